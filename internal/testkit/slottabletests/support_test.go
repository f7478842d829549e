//go:build unix

// Package slottabletests tests the slot tables of stores/sqlstore against servers that fail: it takes long, and so
// runs next to the tests of sqlstore.
package slottabletests

import (
	"log/slog"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

func TestMain(m *testing.M) { testkit.RunParallel(m, 6) }

// discardLog returns an option that discards log records, for tests that cause warnings.
func discardLog() workerassign.Option { return workerassign.WithLogger(slog.New(slog.DiscardHandler)) }
