"""Files wherever they are: on a disk, made to last, or at an address of an object store or of another file system."""
