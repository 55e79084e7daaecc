"""Types in the words of others: XML Schema, JSON Schema, Avro and AsyncAPI, in and out of a taxonomy.

`formats` has them in one table. Nothing is imported here, because files of events need the names only.
"""
