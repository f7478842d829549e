package sqlstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"math/big"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// testAdvice returns an Advice in which each text is the name of its field.
func testAdvice() Advice {
	return Advice{
		Unknown: "unknown", Table: "table", Access: "access", Grant: "grant", Columns: "columns", Key: "key", Closed: "closed",
		TablePostgres: "table postgres", SchemaPostgres: "schema postgres", GrantPostgres: "grant postgres",
		ColumnsPostgres: "columns postgres", KeyPostgres: "key postgres", EncodingPostgres: "encoding postgres",
	}
}

// A mock cannot return driver.ErrBadConn, because database/sql handles it itself.
func TestBadConnIsTransient(t *testing.T) {
	if action, advice := Classify(driver.ErrBadConn, testAdvice()); action != Reconnect {
		t.Errorf("driver.ErrBadConn is classified as %v, %s", action, advice)
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
			if action, advice := Classify(err, testAdvice()); err == nil || action != Stop || advice != AdviceTLS {
				t.Errorf("Classify(%v) = %v, %s; want Stop with AdviceTLS", err, action, advice)
			}
		})
	}
}

// ServerErrors contains each number once, with a name and an advice, and Classify uses its action.
func TestServerErrors(t *testing.T) {
	seen := map[uint16]bool{}
	for _, e := range ServerErrors(testAdvice()) {
		if seen[e.Number] || e.Name == "" || e.Advice == "" {
			t.Errorf("%+v is a duplicate or incomplete", e)
		}
		seen[e.Number] = true
	}
	for number, want := range map[uint16]Action{
		1020: Retry, 1461: Retry, 1615: Retry, 1412: Retry, 1135: Retry, 1062: Retry, 8005: Retry,
		1243: Reconnect, 1047: Reconnect, 1290: Reconnect, 1792: Reconnect, 1836: Reconnect, 1053: Reconnect,
		1044: Stop, 1045: Stop, 1146: Stop, 9999: Stop,
	} {
		if action, _ := Classify(&mysql.MySQLError{Number: number}, testAdvice()); action != want {
			t.Errorf("%d is classified as %v, want %v", number, action, want)
		}
	}
}
