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

// The variable's value is a decimal number. Anything else is refused, so that a mistake in a template does
// not give all pods one worker ID.
func TestWorkerIDFromEnv(t *testing.T) {
	const name = "RINGUID_TEST_WORKER_ID"
	if got, err := workerassign.WorkerIDFromEnv(name); got != 0 || !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), "not set") {
		t.Errorf("without the variable: %d, %v; want ErrOption", got, err)
	}
	for text, want := range map[string]int64{"0": 0, "7": 7, "1023": 1023, "9223372036854775807": 9223372036854775807} {
		t.Setenv(name, text)
		if got, err := workerassign.WorkerIDFromEnv(name); got != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "-1", "+1", "-0", "00", "007", " 7", "7 ", "7\n", "0x7", "1e3", "1_000", "1.0", "9223372036854775808", "$(INDEX)", "٣", "seven"} {
		t.Setenv(name, text)
		if got, err := workerassign.WorkerIDFromEnv(name); got != 0 || !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), strconv.Quote(text)) {
			t.Errorf("%q: %d, %v; want ErrOption with the value", text, got, err)
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

// An accepted value is the decimal form of the number.
func FuzzWorkerIDFromEnv(f *testing.F) {
	for _, text := range []string{"0", "7", "-1", "007", "9223372036854775808"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text, _, _ = strings.Cut(text, "\x00") // an environment variable cannot contain NUL
		t.Setenv("RINGUID_TEST_WORKER_ID", text)
		n, err := workerassign.WorkerIDFromEnv("RINGUID_TEST_WORKER_ID")
		if err == nil && (n < 0 || strconv.FormatInt(n, 10) != text) || err != nil && n != 0 {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	})
}

func ExampleStatefulSetOrdinal() {
	ordinal, err := workerassign.StatefulSetOrdinal("orders-3") // usually from os.Hostname
	fmt.Println(ordinal, err)
	// Output: 3 <nil>
}
