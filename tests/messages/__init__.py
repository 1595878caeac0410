"""Every message that a wrong kernel can get, whole, as golden files."""
