"""Single program, multiple data: a kernel over neighbouring indices in the lanes of vectors.

`varying.py` finds out what is the same in all lanes, `form.py` writes the function of vectors.
"""
