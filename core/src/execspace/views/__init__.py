"""Views, and what makes them, converts them and copies between them."""
