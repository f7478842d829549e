// Package formstest compares the text forms of package uid with those of other libraries, and reads settings with YAML libraries. It is a module of its own, so that
// users of ringuid do not download these libraries.
package formstest
