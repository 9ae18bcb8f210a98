"""Login by Kerberos, with a real KDC. The build this needs takes minutes, so `tests/kerberos` runs it, and `tests/run` does not."""
