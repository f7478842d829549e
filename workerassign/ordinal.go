package workerassign

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// StatefulSetOrdinal returns the ordinal of a pod of a Kubernetes StatefulSet from its host name, which is
// the name of the pod: 3 for "orders-3". A domain after the first dot is ignored. Use it with recycled.WithWorkerID:
//
//	hostname, err := os.Hostname()
//	ordinal, err := workerassign.StatefulSetOrdinal(hostname)
//	a := recycled.New(store, recycled.WithWorkerID(ordinal))
//
// The result is the number in the name, from .spec.ordinals.start (by default 0) to
// .spec.ordinals.start + .spec.replicas - 1. The start is not subtracted: two StatefulSets with different
// starts that belong to one fleet, for example during a migration between clusters, then have different
// worker IDs. Two StatefulSets with the same start have the same ordinals. Give each of them a Prefix, and a
// pool, of its own.
//
// An ordinal is unique only as long as nobody force-deletes a pod whose node cannot be reached. So use it to
// choose the worker ID of a lease, and not with Static.
//
// A host name that does not end with a hyphen and a number without leading zeros, from 0 to 2147483647, is an
// error that wraps ErrOption. The names of a Deployment's pods end with random letters and digits. In rare
// cases these are only digits, so do not use StatefulSetOrdinal for a Deployment.
func StatefulSetOrdinal(hostname string) (int64, error) {
	pod, _, _ := strings.Cut(hostname, ".")
	hyphen := strings.LastIndexByte(pod, '-')
	n, ok := parseDecimal(pod[hyphen+1:])
	if hyphen < 1 || !ok || n > math.MaxInt32 {
		return 0, fmt.Errorf("%w: the host name is %q; must be the name of a pod of a StatefulSet, which ends with a hyphen and a number, such as \"orders-3\"",
			ErrOption, hostname)
	}
	return n, nil
}

// WorkerIDFromEnv returns the worker ID in the environment variable with the given name: a decimal number
// from 0 without a sign, spaces or leading zeros. If the variable is not set, or has another value, the error
// wraps ErrOption. For example, the pod template of a StatefulSet can set a variable to the pod's ordinal from
// its label apps.kubernetes.io/pod-index.
func WorkerIDFromEnv(name string) (int64, error) {
	text, found := os.LookupEnv(name)
	if !found {
		return 0, fmt.Errorf("%w: the environment variable %q is not set; must be a worker ID", ErrOption, name)
	}
	n, ok := parseDecimal(text)
	if !ok {
		return 0, fmt.Errorf("%w: the environment variable %q is %q; must be a worker ID, a decimal number from 0 to %d without a sign, spaces or leading zeros",
			ErrOption, name, text, int64(math.MaxInt64))
	}
	return n, nil
}

// parseDecimal returns the number that FormatInt writes as s. It refuses negative numbers.
func parseDecimal(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, false
	}
	return n, true
}
