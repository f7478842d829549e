package zookeeperstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/workerassign"
)

// Errors of ZooKeeper say what to do. Those that another try does not fix are permanent.
func TestErrorAdvice(t *testing.T) {
	s := New(nil)
	for _, tt := range []struct {
		err       error
		permanent bool
		advice    string
	}{
		{zk.ErrNoAuth, true, "grant the account create, read, write and delete on /ringuid, and call AddAuth on the connection"},
		{zk.ErrAuthFailed, true, "call AddAuth on the connection"},
		{zk.ErrInvalidACL, true, "check WithACL"},
		{zk.ErrClosing, true, "close the connection only after the generators that use it"},
		{zk.ErrConnectionClosed, false, "check that a majority of the ensemble runs, and that this host reaches one of its servers"},
		{zk.ErrConnectionClosed, false, "if the program has closed the connection, close it only after the generators that use it"},
		{zk.ErrInvalidPath, true, "check WithPath"},
		{zk.ErrNoServer, false, "check that a majority of the ensemble runs"},
	} {
		err := s.wrap(tt.err)
		if errors.Is(err, workerassign.ErrPermanent) != tt.permanent || !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.advice) {
			t.Errorf("the error is %v; want %q, permanent: %t", err, tt.advice, tt.permanent)
		}
	}
}
