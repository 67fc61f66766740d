"""Region ops: ops that hold inner graphs, one file each, with declaration, type rule and derivative."""
