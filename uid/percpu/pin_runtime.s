// This file lets functions have no body, which go:linkname needs.
