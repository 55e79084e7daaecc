"""Text and YAML files, with the place of every value, so that an error can point into the file."""

from comity.document.data import DataDocument, plain
from comity.document.model import validate
from comity.document.parse import MAX_NESTING
from comity.document.read import Document, did_you_mean, parse_document, read_document, read_text
from comity.document.write import write_yaml

__all__ = [
    "MAX_NESTING",
    "DataDocument",
    "Document",
    "did_you_mean",
    "parse_document",
    "plain",
    "read_document",
    "read_text",
    "validate",
    "write_yaml",
]
