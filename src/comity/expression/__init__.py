"""The one expression language: tree, grammar, parse, print, bind, evaluate."""
