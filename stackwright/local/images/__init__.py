"""Container images from the recipes in images/: which there are, what each is made of, and how it is made.

`recipes`, `composing` and `hashing` are pure but for reading files: a recipe and everything that goes into it give one
hash, and that hash is the image's tag. `building` makes what is missing, `archives` keeps it, `loading` brings it into
a cluster. Adding an image is adding a folder to images/.
"""
