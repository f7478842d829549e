package workerassign

import (
	"fmt"
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
	number := pod[hyphen+1:]
	n, err := strconv.ParseInt(number, 10, 32)
	if hyphen < 1 || err != nil || strconv.FormatInt(n, 10) != number {
		return 0, fmt.Errorf("%w: the host name is %q; must be the name of a pod of a StatefulSet, which ends with a hyphen and a number, such as \"orders-3\"",
			ErrOption, hostname)
	}
	return n, nil
}
