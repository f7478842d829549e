package etcdstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ringuid/ringuid/workerassign"
)

// Errors of etcd say what to do. Those that another try does not fix are permanent.
func TestErrorAdvice(t *testing.T) {
	s := New(nil)
	for _, tt := range []struct {
		err       error
		permanent bool
		advice    string
	}{
		{rpctypes.ErrGRPCTooManyOps, true, "set --max-txn-ops of the servers to at least 128"},
		{rpctypes.ErrGRPCRequestTooLarge, true, "set --max-request-bytes of the servers to at least its default"},
		{rpctypes.ErrGRPCNoSpace, false, "compact and defragment the database, set --auto-compaction-retention, and disarm the alarm"},
		{rpctypes.ErrGRPCInvalidAuthToken, false, "the client logs in again"},
		{rpctypes.ErrGRPCPermissionDenied, true, "grant the user readwrite on the prefix"},
		{rpctypes.ErrGRPCAuthFailed, true, "check user, password, certificates and the servers' version"},
		{rpctypes.ErrGRPCNoLeader, false, "check that a majority of the cluster's members runs, and that this host reaches one"},
		{status.Error(codes.Unavailable, "connection refused"), false, "check that a majority of the cluster's members runs"},
		{status.Error(codes.Canceled, "the client connection is closing"), true, "close the client only after the generators that use it"},
	} {
		err := s.wrap(t.Context(), tt.err)
		if errors.Is(err, workerassign.ErrPermanent) != tt.permanent || !strings.Contains(err.Error(), tt.advice) {
			t.Errorf("the error is %v; want %q, permanent: %t", err, tt.advice, tt.permanent)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.wrap(ctx, status.Error(codes.Canceled, "canceled")); errors.Is(err, workerassign.ErrPermanent) || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context, the error of a call is %v", err)
	}
	if err := s.wentBackError(); !strings.Contains(err.Error(), "a snapshot was restored, or acknowledged writes were lost") || errors.Is(err, workerassign.ErrPermanent) {
		t.Errorf("the error of data that went back is %v", err)
	}
}
