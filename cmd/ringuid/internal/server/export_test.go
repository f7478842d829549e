package server

import (
	"crypto/x509"
	"testing"
)

// NewCertificate is newCertificate for the tests of package server_test.
func NewCertificate(t *testing.T, dir string) *x509.CertPool { return newCertificate(t, dir) }
