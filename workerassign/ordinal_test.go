package workerassign_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/workerassign"
)

// The ordinal is the number at the end of the pod's name. Anything else is refused.
func TestStatefulSetOrdinal(t *testing.T) {
	for name, want := range map[string]int64{
		"orders-0": 0, "orders-3": 3, "orders-10": 10, "orders-api-7": 7, "o-2147483647": 2147483647, "o-1": 1, "my-2-app-100": 100,
		"orders-3.orders.shop.svc.cluster.local": 3, "orders-3.": 3, "--5": 5,
	} {
		if got, err := workerassign.StatefulSetOrdinal(name); got != want || err != nil {
			t.Errorf("StatefulSetOrdinal(%q) = %d, %v; want %d", name, got, err, want)
		}
	}
	for _, name := range []string{
		"", "-", "3", "-3", "orders", "orders-", "orders3", "orders-03", "orders-00", "orders-+3", "orders--", "orders-3 ", "orders- 3", "orders-3a", "orders-0x3",
		"orders-1_0", "orders-2147483648", "orders-99999999999999999999", "orders.3", "orders.shop-3", "orders-7d4b9c4f5-x2v5z", "orders-٣", "orders-3\n",
	} {
		if got, err := workerassign.StatefulSetOrdinal(name); got != 0 || !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), strconv.Quote(name)) {
			t.Errorf("StatefulSetOrdinal(%q) = %d, %v; want ErrOption with the name", name, got, err)
		}
	}
}

// An accepted host name is one that a StatefulSet gives: it consists of a name and the number.
func FuzzStatefulSetOrdinal(f *testing.F) {
	for _, name := range []string{"orders-3", "orders-03", "-3", "a-2147483648", "orders-3.shop", "a--1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, hostname string) {
		n, err := workerassign.StatefulSetOrdinal(hostname)
		pod, _, _ := strings.Cut(hostname, ".")
		if err == nil && (n < 0 || n > 1<<31-1 || !strings.HasSuffix(pod, fmt.Sprint("-", n)) || pod == fmt.Sprint("-", n)) || err != nil && n != 0 {
			t.Errorf("StatefulSetOrdinal(%q) = %d, %v", hostname, n, err)
		}
	})
}

func ExampleStatefulSetOrdinal() {
	ordinal, err := workerassign.StatefulSetOrdinal("orders-3") // usually from os.Hostname
	fmt.Println(ordinal, err)
	// Output: 3 <nil>
}
