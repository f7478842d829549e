// With this file in the package, the compiler accepts functions without a body, as go:linkname requires.
