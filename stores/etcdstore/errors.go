package etcdstore

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ringuid/ringuid/workerassign"
)

// wrap returns an error of etcd with what to do about it. If another try would fail in the same way, it
// wraps workerassign.ErrPermanent.
func (s *Store) wrap(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w (%v)", context.Cause(ctx), err)
	}
	advice, permanent := adviceFor(ctx, err)
	if permanent {
		return fmt.Errorf("etcdstore: %s: %w: %w; %s", s, workerassign.ErrPermanent, err, advice)
	}
	return fmt.Errorf("etcdstore: %s: %w; %s", s, err, advice)
}

// adviceFor returns what to do about an error, and whether it is permanent.
func adviceFor(ctx context.Context, err error) (advice string, permanent bool) {
	switch err := rpctypes.Error(err); {
	case errors.Is(err, rpctypes.ErrTooManyOps):
		return "set --max-txn-ops of the servers to at least 128", true
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return "set --max-request-bytes of the servers to at least its default", true
	case errors.Is(err, rpctypes.ErrNoSpace):
		return "compact and defragment the database, set --auto-compaction-retention, and disarm the alarm", false
	case errors.Is(err, rpctypes.ErrInvalidAuthToken), errors.Is(err, rpctypes.ErrAuthOldRevision):
		return "the client logs in again", false
	}
	code := status.Code(err)
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		code = e.Code()
	}
	switch code {
	case codes.PermissionDenied:
		return "grant the user readwrite on the prefix", true
	case codes.Unauthenticated, codes.InvalidArgument, codes.FailedPrecondition, codes.Unimplemented:
		return "check user, password, certificates and the servers' version", true
	case codes.Canceled:
		if ctx.Err() == nil {
			return "close the client only after the generators that use it", true
		}
	}
	return "check that a majority of the cluster's members runs, and that this host reaches one", false
}

// wentBackError returns the error for data that went back between two requests of one call.
func (s *Store) wentBackError() error {
	return fmt.Errorf("etcdstore: %s: the cluster is another one, or its revision is less than before: a snapshot was restored, or acknowledged writes were lost", s)
}
