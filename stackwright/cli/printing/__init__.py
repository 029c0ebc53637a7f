"""How answers are printed: as tables and sentences for people, as JSON for programs.

The rule of this folder: values in, text out. What the values say was found out in `foresight`.
"""
