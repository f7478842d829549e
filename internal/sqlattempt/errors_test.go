package sqlattempt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"math/big"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// Each use has its own words for its tables, and the same as others for the rest.
func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		reason              Reason
		inserts, slots, tag string
	}{
		{ReasonTable, "the table's name by WithTable", "the tables' names by WithPoolTables", "the table's name by WithTagTable"},
		{ReasonGrant, "grant it INSERT on the table", "PRIVILEGES ON SLOTS", "PRIVILEGES ON TAGS"},
		{ReasonGrantPostgres, "SELECT on its column id", "schema.postgres.sql under PRIVILEGES ON SLOTS", "schema.postgres.sql under PRIVILEGES ON TAGS"},
		{ReasonAccess, "grant the account INSERT", "PRIVILEGES ON SLOTS", "PRIVILEGES ON TAGS"},
		{ReasonKey, "HOW MANY ARE LEFT", "a table has the wrong columns", "max_id must be BIGINT"},
		{ReasonEncodingPostgres, "or WithNode", "encoding UTF8", "or another name"},
		{ReasonBusy, "the load and the limits", "the load and the limits", "the load and the limits"},
	} {
		for use, want := range map[Use]string{Inserts: tt.inserts, Slots: tt.slots, Tags: tt.tag} {
			if got := tt.reason.Advice(use); !strings.Contains(got, want) || strings.Contains(got, "WithNode") != (want == "or WithNode") {
				t.Errorf("the advice of %q for the use %d is %q, want %q", tt.reason, use, got, want)
			}
		}
	}
}

// A mock cannot return driver.ErrBadConn, because database/sql handles it itself.
func TestBadConnIsTransient(t *testing.T) {
	if action, reason := Classify(driver.ErrBadConn); action != Reconnect {
		t.Errorf("driver.ErrBadConn is classified as %v, %s", action, reason)
	}
}

// If a server refuses the client's TLS settings, the error is permanent. The test takes the error from
// a real handshake, because package tls does not document its type.
func TestTLSAlertsArePermanent(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificates := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	for name, configs := range map[string]struct{ server, client *tls.Config }{
		"a version that the server does not support": {
			&tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS13},
			&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}},
		"no client certificate": {
			&tls.Config{Certificates: certificates, MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert},
			&tls.Config{InsecureSkipVerify: true}},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			done := make(chan struct{})
			go func() {
				defer close(done)
				tls.Server(far, configs.server).Handshake() // fails and sends an alert to the client
			}()
			err := tls.Client(near, configs.client).Handshake()
			near.Close()
			far.Close()
			<-done
			if action, reason := Classify(err); err == nil || action != Stop || reason != ReasonTLS {
				t.Errorf("Classify(%v) = %v, %s; want Stop with ReasonTLS", err, action, reason)
			}
		})
	}
}

// ServerErrors contains each number once, with a name and an advice, and Classify uses its action.
func TestServerErrors(t *testing.T) {
	seen := map[uint16]bool{}
	for _, e := range ServerErrors() {
		if seen[e.Number] || e.Name == "" || e.Reason == "" {
			t.Errorf("%+v is a duplicate or incomplete", e)
		}
		seen[e.Number] = true
	}
	for number, want := range map[uint16]Action{
		1020: Retry, 1461: Retry, 1615: Retry, 1412: Retry, 1135: Retry, 1062: Retry, 8005: Retry,
		1243: Reconnect, 1047: Reconnect, 1290: Reconnect, 1792: Reconnect, 1836: Reconnect, 1053: Reconnect,
		1044: Stop, 1045: Stop, 1146: Stop, 9999: Stop,
	} {
		if action, _ := Classify(&mysql.MySQLError{Number: number}); action != want {
			t.Errorf("%d is classified as %v, want %v", number, action, want)
		}
	}
}
