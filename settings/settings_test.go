package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// settingValues has a value for each key that is not the default, and what it sets.
func settingValues() map[string]string {
	return map[string]string{
		"generator": "default", "layout": "1-31-10-12", "epoch": "2020-01-01T00:00:00Z", "time_unit": "100ms", "boost_power": "0",
		"padding_factor": "60", "schedule_interval": "2s", "max_staleness": "10s", "max_borrow": "30m0s", "rollover": "false",
		"rollover_interval": "1m0s", "reserve_ahead": "10s", "take_policy": "wait", "rollback": "wait_out:5s", "spread": "4", "assigner": "recycled",
		"store": "file:/tmp/slots", "worker_id": "7", "worker_name": "orders-7", "worker_prefix": "5/3", "worker_divide": "2",
	}
}

// Each key is set, is written in the usual way, and becomes the option of its name.
func TestKeys(t *testing.T) {
	values := settingValues()
	var names []string
	var all Settings
	for _, k := range Keys() {
		names = append(names, k.Name)
		var s Settings
		if err := s.Set(k.Name, values[k.Name]); err != nil || s[k.Name] != values[k.Name] || len(s) != 1 {
			t.Errorf("%s is set to %q, and the settings are %q, %v", k.Name, values[k.Name], map[string]string(s), err)
		}
		if err := all.Set(k.Name, values[k.Name]); err != nil {
			t.Error(err)
		}
		if k.Usage == "" || k.Env("X_") != "X_"+strings.ToUpper(k.Name) || k.Default == values[k.Name] {
			t.Errorf("%+v, %s", k, k.Env("X_"))
		}
		isOption := !slices.Contains([]string{"generator", "assigner", "store", "worker_id", "worker_name", "worker_prefix", "worker_divide"}, k.Name)
		cached, err := s.CachedOptions()
		byDefault, err2 := s.DefaultOptions()
		if n := max(len(cached), len(byDefault)); err != nil || err2 != nil || isOption != (n == 1) {
			t.Errorf("%s becomes %d options, %v, %v", k.Name, n, err, err2)
		}
	}
	if slices.Sort(names); !slices.Equal(names, slices.Sorted(maps.Keys(values))) {
		t.Fatalf("the keys are %v", names)
	}
	if err := all.Check(); err != nil {
		t.Error(err)
	}
	if f, err := all.Format(); err != nil || f.String() != "1-31-10-12 2020-01-01T00:00:00Z 100ms" {
		t.Errorf("the format is %v, %v", f, err)
	}
	opts, _ := all.CachedOptions()
	if staleness, borrow, err := uid.CachedBounds(opts...); err != nil || staleness != 10*time.Second || borrow != 30*time.Minute {
		t.Errorf("the bounds are %v and %v, %v", staleness, borrow, err)
	}
}

// The option of each key is that of package uid, with the value.
func TestOptionsOfKeys(t *testing.T) {
	want := map[string]any{
		"epoch": uid.WithEpoch(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)), "time_unit": uid.WithTimeUnit(100 * time.Millisecond), "boost_power": uid.WithBoostPower(0),
		"padding_factor": uid.WithPaddingFactor(60), "schedule_interval": uid.WithScheduleInterval(2 * time.Second), "max_staleness": uid.WithMaxStaleness(10 * time.Second),
		"max_borrow": uid.WithMaxBorrow(30 * time.Minute), "rollover": uid.WithRollover(false), "rollover_interval": uid.WithRolloverInterval(time.Minute),
		"reserve_ahead": uid.WithReserveAhead(10 * time.Second), "take_policy": uid.WithTakePolicy(uid.Wait), "rollback": uid.WithRollback(uid.WaitOut(5 * time.Second)), "spread": uid.WithSpread(4),
	}
	layout, err := bitsalloc.ParseLayout("1-31-10-12")
	if err != nil {
		t.Fatal(err)
	}
	want["layout"] = uid.WithLayout(layout)
	// What the option makes of a configuration, which is a type that package uid does not export.
	effect := func(opt any) any {
		config := reflect.New(reflect.TypeOf(opt).In(0).Elem())
		reflect.ValueOf(opt).Call([]reflect.Value{config})
		return config.Interface()
	}
	more := map[[2]string]any{
		{"take_policy", "caller_pads"}: uid.WithTakePolicy(uid.CallerPads), {"take_policy", "fail"}: uid.WithTakePolicy(uid.Fail), {"rollover", "true"}: uid.WithRollover(true),
		{"rollback", "ride_out"}: uid.WithRollback(uid.RideOut()), {"rollback", "refuse"}: uid.WithRollback(uid.Refuse()),
	}
	for key, opt := range want {
		more[[2]string{key, settingValues()[key]}] = opt
	}
	for pair, opt := range more {
		_, opts, found := Settings{pair[0]: pair[1]}.read()
		if err := found.err(); err != nil || len(opts) != 1 || !reflect.DeepEqual(effect(opts[0]), effect(opt)) {
			t.Errorf("%s=%s: %v", pair[0], pair[1], found.err())
		}
	}
}

// The defaults of the table are those of package uid.
func TestDefaults(t *testing.T) {
	var s Settings
	for _, k := range Keys() {
		if k.Default != "" {
			if err := s.Set(k.Name, k.Default); err != nil || s[k.Name] != k.Default {
				t.Errorf("%s is %q, %v; want %q", k.Name, s[k.Name], err, k.Default)
			}
		}
	}
	f, err := uid.NewFormat()
	if got, err2 := s.Format(); err != nil || err2 != nil || got != f {
		t.Errorf("the format is %v, %v, want %v, %v", got, err2, f, err)
	}
	opts, _ := s.CachedOptions()
	staleness, borrow, err := uid.CachedBounds(opts...)
	if wantStaleness, wantBorrow, err2 := uid.CachedBounds(); staleness != wantStaleness || borrow != wantBorrow || err != nil || err2 != nil {
		t.Errorf("the bounds are %v and %v, %v, want %v and %v, %v", staleness, borrow, err, wantStaleness, wantBorrow, err2)
	}
}

// What is wrong is an error that says what is right, and changes nothing.
func TestFaults(t *testing.T) {
	for _, tt := range []struct{ key, value, want string }{
		{"generator", "Cached", `generator: is "Cached"; must be cached or default`},
		{"layout", "28-22-13", `layout: bitsalloc: `},
		{"layout", "1-60-22-13", `must be`},
		{"epoch", "2026-01-01", `epoch: is "2026-01-01"; must be a time such as 2026-01-01T00:00:00Z`},
		{"epoch", "2026-01-01T00:00:00.5Z", `must be a whole second`},
		{"epoch", "0001-01-01T00:00:00Z", `must be a time such as`},
		{"time_unit", "1", `time_unit: is "1"; must be a duration from 0 with a unit, such as 500ms, 3s or 1h`},
		{"time_unit", "7ms", `must be a second, or divide a second`},
		{"time_unit", "0", `time_unit: is 0; must be greater, or left out for the default`},
		{"boost_power", "17", `boost_power: boost power is 17; must be 0 to 16`},
		{"boost_power", "+3", `boost_power: is "+3"; must be a decimal number without a sign, spaces or leading zeros`},
		{"boost_power", "03", `must be a decimal number`},
		{"boost_power", "99999999999999999999", `must be a decimal number`},
		{"padding_factor", "0", `padding_factor: padding factor is 0 %; must be 1 to 99`},
		{"padding_factor", "100", `padding factor is 100 %; must be 1 to 99`},
		{"schedule_interval", "-1s", `schedule_interval: is "-1s"; must be a duration from 0`},
		{"max_staleness", "0s", `max_staleness: is 0`},
		{"max_borrow", "an hour", `max_borrow: is "an hour"; must be a duration`},
		{"rollover", "yes", `rollover: is "yes"; must be true or false`},
		{"take_policy", "CallerPads", `take_policy: is "CallerPads"; must be caller_pads, wait or fail`},
		{"rollback", "wait_out", `rollback: is "wait_out"; must be ride_out, refuse, or wait_out with a bound, as in wait_out:5s`},
		{"rollback", "wait_out:-5s", `must be ride_out`},
		{"rollback", "refuse:5s", `must be ride_out`},
		{"assigner", "file", `assigner: is "file"; must be disposable, recycled or static`},
		{"store", "", `store: is empty`},
		{"store", "file:", `must have the path of a file`},
		{"store", "file:///", `must have the path of a file`},
		{"store", "file:workers/", `must have the path of a file`},
		{"store", "file://host/path", `must have no host`},
		{"store", "file:/var/a%20b", `must not contain %, ? or #`},
		{"store", "file:///var/a?assign=recycled", `must not contain %, ? or #`},
		{"store", "file:/var/a#1", `must not contain %, ? or #`},
		{"store", "file:/path\x00", `must have the path of a file`},
		{"store", "/var/lib/worker", `store: is "/var/lib/worker"; must be file: and the path, as in file:/var/lib/myservice/worker`},
		{"store", "./worker", `must be file: and the path`},
		{"worker_id", "007", `worker_id: is "007"; must be a decimal number from 0 without leading zeros, or ordinal`},
		{"worker_id", "-1", `must be a decimal number`},
		{"worker_name", "", `worker_name: is empty`},
		{"worker_prefix", "5", `worker_prefix: is "5"; must be a number and the bits that it fits into, as in 5/3`},
		{"worker_prefix", "8/3", `must be a number and the bits`},
		{"worker_prefix", "0/62", `must be a number and the bits`},
		{"worker_prefix", "1/64", `must be a number and the bits`},
		{"worker_divide", "-2", `worker_divide: is "-2"; must be a decimal number`},
		{"rollovck", "3", `no such setting as "rollovck"; did you mean rollover?`}, // as near to rollback, which comes later
		{"boostpower", "3", `boostpower: no such setting as "boostpower"; did you mean boost_power?`},
		{"color", "3", `color: no such setting as "color"; settings.Keys returns all`},
		{strings.Repeat("x", 1000), "3", `no such setting as "xxxx`},
	} {
		s := Settings{"worker_name": "kept"}
		err := s.Set(tt.key, tt.value)
		var all *Error
		if !errors.Is(err, uid.ErrOption) || !errors.As(err, &all) || len(all.Faults) != 1 || all.Faults[0].Name != tt.key || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s = %q: %v; want %q", tt.key, tt.value, err, tt.want)
		}
		if s["worker_name"] != "kept" || len(s) != 1 {
			t.Errorf("%s = %q changed the settings to %v", tt.key, tt.value, s)
		}
		if err := (Settings{tt.key: tt.value}).Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Check of %s = %q: %v; want %q", tt.key, tt.value, err, tt.want)
		}
	}
	if err := (*Settings)(nil).Set("layout", "1-28-22-13"); !errors.Is(err, uid.ErrOption) {
		t.Error(err)
	}
}

// JSON, a YAML library's map and the environment report all faults, by their own names, and change nothing then.
func TestAllFaults(t *testing.T) {
	s := Settings{"worker_name": "kept"}
	var all *Error
	err := json.Unmarshal([]byte(`{"layuot": "1-28-22-13", "boost_power": 17, "rollover": "no", "time_unit": null, "epoch": {}, "worker_id": 7, "worker_id": 8, "generator": "cached"}`), &s)
	want := `settings: 6 are wrong:
	layuot: no such setting as "layuot"; did you mean layout?
	boost_power: boost power is 17; must be 0 to 16
	rollover: is "no"; must be true or false
	time_unit: is null; must be a text, a number or a truth value
	epoch: is an object; must be a text, a number or a truth value
	worker_id: is set more than once`
	if !errors.As(err, &all) || err.Error() != want {
		t.Errorf("%v", err)
	}
	yaml := func(v any) error {
		*v.(*map[string]string) = map[string]string{"layuot": "x", "boost_power": "017", "generator": "cached"}
		return nil
	}
	err = s.UnmarshalYAML(yaml)
	want = `settings: 2 are wrong:
	boost_power: is "017"; must be a decimal number without a sign, spaces or leading zeros
	layuot: no such setting as "layuot"; did you mean layout?`
	if !errors.As(err, &all) || err.Error() != want {
		t.Errorf("%v", err)
	}
	env := map[string]string{"RINGUID_BOOST_POWER": "17", "RINGUID_LAYOUT": "x", "RINGUID_GENERATOR": "cached", "RINGUID_EPOCH": ""}
	err = s.ReadEnv(Prefix, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if !errors.As(err, &all) || len(all.Faults) != 2 || all.Faults[0].Name != "RINGUID_LAYOUT" || all.Faults[1].Name != "RINGUID_BOOST_POWER" {
		t.Errorf("%v", err)
	}
	if s["worker_name"] != "kept" || len(s) != 1 {
		t.Errorf("the settings are %+v", s)
	}
	unreadable := errors.New("line 3")
	if err := s.UnmarshalYAML(func(any) error { return unreadable }); !errors.Is(err, unreadable) || !errors.Is(err, uid.ErrOption) {
		t.Error(err)
	}
	for _, text := range []string{`["u:secret@h"]`, ` "u:secret@h"`, `7`, `true`, `{"layout": "1-28-22-13"`, `{} {}`, `{"store": {"dsn": "u:secret@h"}}`, `{"store": ["u:secret@h"]}`} {
		if err := s.UnmarshalJSON([]byte(text)); !errors.Is(err, uid.ErrOption) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, err := range []error{(*Settings)(nil).UnmarshalJSON([]byte(`{}`)), (*Settings)(nil).UnmarshalYAML(yaml), (*Settings)(nil).ReadEnv("", os.LookupEnv), s.ReadEnv("", nil)} {
		if !errors.Is(err, uid.ErrOption) {
			t.Error(err)
		}
	}
	if err := json.Unmarshal([]byte("null"), &s); err != nil {
		t.Error(err)
	}
}

// One source after the other: each changes what it has.
func TestOverlay(t *testing.T) {
	type file struct {
		Listen string   `json:"listen"`
		UID    Settings `json:"uid"`
	}
	var f file
	err := json.Unmarshal([]byte(`{"listen": ":80", "uid": {"layout": "1-30-20-13", "boost_power": 4, "rollover": true, "max_borrow": "1h", "worker_id": 3}}`), &f)
	if err != nil {
		t.Fatal(err)
	}
	s := f.UID
	env := map[string]string{"ORDERS_LAYOUT": "1-31-10-12", "ORDERS_ROLLOVER": "false", "ORDERS_WORKER_ID": "", "RINGUID_LAYOUT": "1-28-22-13"}
	if err := s.ReadEnv("ORDERS_", func(name string) (string, bool) { v, ok := env[name]; return v, ok }); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("max_borrow", "0"); err != nil {
		t.Fatal(err)
	}
	if want := (Settings{"layout": "1-31-10-12", "boost_power": "4", "rollover": "false", "max_borrow": "0s", "worker_id": "3"}); !maps.Equal(s, want) {
		t.Errorf("the settings are %v", s)
	}
	if want := (Settings{"layout": "1-30-20-13", "boost_power": "4", "rollover": "true", "max_borrow": "1h0m0s", "worker_id": "3"}); !maps.Equal(f.UID, want) {
		t.Errorf("the copy that was read first has changed: %v", f.UID)
	}
	// 0 takes back what an earlier source has set.
	if err := s.Set("spread", "4"); err != nil || s["spread"] != "4" {
		t.Error(s, err)
	}
	if err := s.Set("spread", "0"); err != nil || len(s) != 5 {
		t.Error(s, err)
	}
}

func TestCheckEnviron(t *testing.T) {
	environ := []string{"PATH=/bin", "RINGUID_LAYOUT=1-28-22-13", "RINGUID_LISTEN=:80", "RINGUID_SERVICE_HOST=10.0.0.1", "RINGUID_SERVICE_PORT_HTTP=80",
		"RINGUID_PORT=tcp://10.0.0.1:80", "RINGUID_PORT_80_TCP_ADDR=10.0.0.1", "RINGUID_PORT_53_UDP=udp://10.0.0.1:53", "OTHER_LAYUOT=x",
		// Of a service ringuid-tags in the same namespace.
		"RINGUID_TAGS_SERVICE_HOST=10.0.0.1", "RINGUID_TAGS_SERVICE_PORT=80", "RINGUID_TAGS_PORT=tcp://10.0.0.1:80", "RINGUID_PORT_80_TCP_PORT=80", "RINGUID_PORT_X_PORT=sctp://10.0.0.1:80", "RINGUID_TAGS_PORT_80_TCP_PROTO=tcp"}
	if err := CheckEnviron(Prefix, environ, "RINGUID_LISTEN"); err != nil {
		t.Error(err)
	}
	err := CheckEnviron(Prefix, append(environ, "RINGUID_LAYUOT=secret", "RINGUID_PORTS=1", "RINGUID_SERVER_PORT=8080"))
	var all *Error
	if !errors.As(err, &all) || len(all.Faults) != 4 || !strings.Contains(err.Error(), "RINGUID_SERVER_PORT") || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), `RINGUID_LAYUOT: no such setting as "RINGUID_LAYUOT"; did you mean RINGUID_LAYOUT?`) {
		t.Error(err)
	}
	// Also a name among the others may have been meant.
	err = CheckEnviron(Prefix, []string{"RINGUID_TOKENFILE=x"}, "RINGUID_TOKEN", "RINGUID_TOKEN_FILE")
	if err == nil || !strings.Contains(err.Error(), "did you mean RINGUID_TOKEN_FILE?") {
		t.Error(err)
	}
}

// Check finds what is wrong between keys, all at once, and what Go code has set.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Settings
		want []string
	}{
		{"the zero value", nil, nil},
		{"values by themselves", Settings{"generator": "x", "boost_power": "99", "padding_factor": "-1", "time_unit": "7ns", "rollback": "wait_out:-1s", "colour": "red"},
			[]string{"generator: ", "boost_power: ", "padding_factor: ", "time_unit: ", "rollback: ", "colour: no such setting"}},
		{"a value, and the assigner", Settings{"assigner": "static", "worker_id": "x", "boost_power": "99"}, []string{"boost_power: ", "worker_id: is \"x\""}},
		{"against each other", Settings{"boost_power": "16", "max_borrow": "1h", "max_staleness": "1s", "reserve_ahead": "1ms", "spread": "13"},
			[]string{"the spread is 13 bits", "the time to reserve ahead is 1ms", "staleness bound is 1s", "borrow limit is 1h0m0s"}},
		{"without a ring", Settings{"generator": "default", "max_borrow": "0", "max_staleness": "1s"}, nil},
		{"against each other, without a ring", Settings{"generator": "default", "reserve_ahead": "1ms", "spread": "13"}, []string{"the spread is 13 bits", "the time to reserve ahead is 1ms"}},
		{"no assigner", Settings{"store": "redis://u:p@h", "worker_id": "7", "worker_name": "x", "worker_prefix": "1/2", "worker_divide": "2"},
			[]string{`store: is "redis://u:xxxxx@h", and no assigner is set; leave it out`, "worker_id: ", "worker_name: ", "worker_prefix: ", "worker_divide: "}},
		{"no division", Settings{"worker_divide": "0"}, nil},
		{"disposable", Settings{"assigner": "disposable", "worker_id": "7", "worker_name": "x"}, []string{"worker_id: ", "worker_name: "}},
		{"static", Settings{"assigner": "static", "worker_name": "x", "store": "mysql"}, []string{"worker_name: ", "worker_id: is not set", "store: "}},
		{"static ordinal", Settings{"assigner": "static", "worker_id": "ordinal"}, []string{"worker_id: is ordinal"}},
		{"static, good", Settings{"assigner": "static", "worker_id": "0", "store": "file:x", "worker_prefix": "1/2", "worker_divide": "1"}, nil},
		{"recycled, good", Settings{"assigner": "recycled", "worker_id": "ordinal", "worker_name": "x", "store": "redis://h"}, nil},
	} {
		err := tt.s.Check()
		if tt.want == nil {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		var all *Error
		if !errors.As(err, &all) || !errors.Is(err, uid.ErrOption) || len(all.Faults) != len(tt.want) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for _, want := range tt.want {
			if !slices.ContainsFunc(all.Faults, func(f Fault) bool { return strings.HasPrefix(f.String(), want) }) {
				t.Errorf("%s: no fault %q in %v", tt.name, want, err)
			}
		}
	}
}

// The printed settings are those in force, also the defaults, and they can be read back.
func TestInForce(t *testing.T) {
	for _, tt := range []struct {
		s    Settings
		want string
	}{
		{Settings{}, "generator=cached layout=1-28-22-13 epoch=2026-01-01T00:00:00Z time_unit=1s boost_power=3 padding_factor=50 schedule_interval=1s " +
			"max_staleness=3s max_borrow=1h0m0s rollover=true reserve_ahead=30s take_policy=caller_pads"},
		{Settings{"generator": "default", "boost_power": "7"}, "generator=default layout=1-28-22-13 epoch=2026-01-01T00:00:00Z time_unit=1s " +
			"reserve_ahead=30s rollback=ride_out"},
		{Settings{"boost_power": "12", "schedule_interval": "0", "rollover": "false", "rollback": "refuse", "assigner": "recycled",
			"worker_name": `a "name"`, "store": "redis://user:pass:w@rd@host:6379/0?token=abc&tls"},
			"generator=cached layout=1-28-22-13 epoch=2026-01-01T00:00:00Z time_unit=1s boost_power=12 padding_factor=50 schedule_interval=0s " +
				`max_borrow=2h16m32s rollover=false reserve_ahead=30s take_policy=caller_pads assigner=recycled store="redis://user:xxxxx@host:6379/0?token=xxxxx&tls" worker_name="a \"name\""`},
		{Settings{"boost_power": "99", "worker_id": "7"}, "boost_power=99 worker_id=7"}, // not valid: what is set
		{Settings{"boost_power": "99", "worker_name": "a\x1b\r"}, `boost_power=99 worker_name="a\x1b\r"`},
	} {
		if got := tt.s.String(); got != tt.want {
			t.Errorf("String() = %s\nwant %s", got, tt.want)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("", "s", tt.s)
		if !strings.Contains(log.String(), "s."+strings.Split(tt.want, " ")[0]) || strings.Contains(log.String(), "pass") {
			t.Errorf("the log is %s", log.String())
		}
		text, err := json.Marshal(tt.s)
		if tt.s.Check() != nil {
			if err == nil {
				t.Errorf("the JSON is %s", text)
			}
			continue
		}
		var back Settings
		if err != nil || json.Unmarshal(text, &back) != nil || back.String() != tt.want {
			t.Errorf("the JSON is %s, %v, which is read as %v", text, err, back)
		}
		m, err := tt.s.MarshalYAML()
		if err != nil {
			t.Error(err)
		}
		back = Settings{}
		if err := back.UnmarshalYAML(func(v any) error { *v.(*map[string]string) = m.(map[string]string); return nil }); err != nil || back.String() != tt.want {
			t.Errorf("the YAML is %v, %v, which is read as %v", m, err, back)
		}
	}
	if _, err := (Settings{"boost_power": "99"}).MarshalYAML(); err == nil {
		t.Error("settings that are not valid have YAML")
	}
}

func TestRedact(t *testing.T) {
	for store, want := range map[string]string{
		"": "", "file:/a:b@c?d=e": "file:/a:b@c?d=e", "redis://host:6379/0": "redis://host:6379/0", "mysql://u:p?w&@h/db": "mysql://xxxxx",
		"u:p@tcp(h:3306)/db?tls=true": "u:xxxxx@tcp(h:3306)/db?tls=xxxxx", "redis://:pw@h": "redis://:xxxxx@h", "postgres://u@h/db?password=x&sslmode": "postgres://u@h/db?password=xxxxx",
		"host=h Password=secret dbname=d": "host=h Password=xxxxx", "redis://h?x=a:b@c": "redis://xxxxx", "db": "db", "u:p://w@tcp(h)/db": "u:xxxxx@tcp(h)/db", "redis://h/0?token=a@b": "redis://xxxxx",
		"redis://h:1/0?token=a@b": "redis://xxxxx", "host=h password = 'a b' dbname=d": "host=h password =xxxxx", "u@password.h/d?PASSWORD=x": "u@password.h/d?PASSWORD=xxxxx",
		"password=": "password=xxxxx", "password": "password", "host=password.h sslpassword\t=x": "host=password.h sslpassword\t=xxxxx",
	} {
		if got := Redact(store); got != want {
			t.Errorf("Redact(%q) = %q, want %q", store, got, want)
		}
	}
	for store, want := range map[string]string{"?a=b": "?a=xxxxx", "?a=b@c": "xxxxx", "&a=b": "&a=xxxxx", "u://p:q@h": "u:xxxxx@h", "ab://p:q@h": "ab://p:xxxxx@h", "@h:1": "@h:1",
		"mysql://u:a password=b@h": "mysql://xxxxx", "password=a&b=c": "password=xxxxx"} {
		if got := Redact(store); got != want {
			t.Errorf("Redact(%q) = %q, want %q", store, got, want)
		}
	}
	const store = "mysql://u:p@h/db&a=1&pool=orders&name=x=y&tls=z"
	if got, want := Redact(store, "pool", "name"), "mysql://u:xxxxx@h/db&a=xxxxx&pool=orders&name=xxxxx&tls=xxxxx"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Each assigner that needs no server generates UIDs with its worker ID.
func TestGenerators(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		s    Settings
		b    Backend
		want int64
	}{
		{Settings{"assigner": "static", "worker_id": "7"}, Backend{}, 7},
		{Settings{"assigner": "static", "worker_id": "7", "store": "file:" + filepath.Join(dir, "static"), "generator": "default"},
			Backend{StaticFile: []workerassign.StaticFileOption{workerassign.WithNewFile()}}, 7},
		{Settings{"assigner": "disposable", "store": "file:" + filepath.Join(dir, "counter")}, Backend{}, 1},
		{Settings{"assigner": "disposable", "store": "file://" + filepath.Join(dir, "counter")}, Backend{}, 2},
		{Settings{"assigner": "recycled", "store": "file:" + filepath.Join(dir, "slots"), "worker_name": "x"}, Backend{}, 0},
		{Settings{"assigner": "recycled", "store": "file:" + filepath.Join(dir, "fixed"), "worker_id": "ordinal"}, Backend{Hostname: "orders-3.local"}, 3},
		{Settings{"assigner": "recycled"}, Backend{Slots: filestore.New(filepath.Join(dir, "own")), Recycled: []recycled.Option{recycled.WithWorkerID(4)}}, 4},
		{Settings{"assigner": "static", "worker_id": "7", "worker_divide": "2", "worker_prefix": "5/3", "layout": "1-31-10-12"}, Backend{}, 5<<7 | 7},
	} {
		if os.PathSeparator != '/' && strings.HasPrefix(tt.s["store"], "file://") {
			continue
		}
		a, err := tt.s.NewAssigner(tt.b)
		if err != nil {
			t.Errorf("%v: %v", tt.s, err)
			continue
		}
		g, err := tt.s.NewGenerator(t.Context(), a, uid.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Errorf("%v: %v", tt.s, err)
			continue
		}
		if id, err := g.Next(); err != nil || g.Parse(id).WorkerID != tt.want {
			t.Errorf("%v: worker ID %d, %v, want %d", tt.s, g.Parse(id).WorkerID, err, tt.want)
		}
		if _, isDefault := g.(*uid.Default); isDefault != (tt.s["generator"] == "default") {
			t.Errorf("%v: the generator is a %T", tt.s, g)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The options of the program are applied after those of the settings.
func TestOptionsOfProgram(t *testing.T) {
	for _, generator := range []string{"cached", "default"} {
		s := Settings{"generator": generator, "assigner": "static", "worker_id": "7", "layout": "1-31-10-12"}
		other, err := bitsalloc.New(30, 20, 13)
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.NewGenerator(t.Context(), workerassign.Static(7), uid.WithLogger(slog.New(slog.DiscardHandler)), uid.WithLayout(other))
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Format().Layout(); got != other {
			t.Errorf("%s: the layout is %v", generator, got)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Divide is inside of Prefix: the second lease is the second part of the worker ID, and the prefix is above the parts.
func TestDivide(t *testing.T) {
	a, err := Settings{"assigner": "static", "worker_id": "7", "worker_divide": "2", "worker_prefix": "5/3"}.NewAssigner(Backend{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{5<<7 | 7, 5<<7 | 1<<5 | 7} {
		l, err := a.Assign(t.Context(), workerassign.Request{MaxWorkerID: 1023, Logger: slog.New(slog.DiscardHandler)})
		if err != nil || l.WorkerID() != want {
			t.Fatalf("%v, %v; want worker ID %d", l, err, want)
		}
		defer l.Release(t.Context(), time.Now())
	}
}

// What the settings require and the program has not opened is an error, and there is no generator then.
func TestAssignerErrors(t *testing.T) {
	for _, tt := range []struct {
		s    Settings
		b    Backend
		want string
	}{
		{Settings{}, Backend{}, "assigner: is not set; must be disposable, recycled or static"},
		{Settings{"assigner": "disposable", "store": "mysql"}, Backend{}, "store: must be file: and a path, or the program must open a database"},
		{Settings{"assigner": "recycled", "store": "redis://h"}, Backend{}, "store: must be file: and a path, or the program must open a store"},
		{Settings{"assigner": "recycled", "store": "file:x", "worker_id": "ordinal"}, Backend{Hostname: "host"}, `worker_id: workerassign: `},
		{Settings{"assigner": "static"}, Backend{}, "worker_id: is not set"},
		{Settings{"generator": "x", "assigner": "static", "worker_id": "1"}, Backend{}, "generator: "},
	} {
		a, err := tt.s.NewAssigner(tt.b)
		var all *Error
		if a != nil || !errors.As(err, &all) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, %v; want %q", tt.s, a, err, tt.want)
		}
	}
	for _, generator := range []string{"cached", "default"} {
		s := Settings{"generator": generator, "assigner": "static", "worker_id": "7"}
		if g, err := s.NewGenerator(t.Context(), workerassign.Static(7), uid.WithLogger(nil)); g != nil || !errors.Is(err, uid.ErrOption) {
			t.Errorf("%v: %v, %v", generator, g, err)
		}
		s["layout"] = "x"
		if g, err := s.NewGenerator(t.Context(), workerassign.Static(7)); g != nil || !errors.Is(err, uid.ErrOption) || !strings.Contains(err.Error(), "layout: ") {
			t.Errorf("%v: %v, %v", generator, g, err)
		}
		if f, err := s.Format(); f != (uid.Format{}) || err == nil {
			t.Errorf("%v, %v", f, err)
		}
	}
}

// What reads settings does not panic, and what it accepts is read back from what is printed.
func FuzzSettings(f *testing.F) {
	for key, value := range settingValues() {
		f.Add(fmt.Sprintf(`{%q: %q}`, key, value))
	}
	f.Add(`{"boost_power": 3, "rollover": true, "max_borrow": null, "x": [1]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s, back Settings
		if s.UnmarshalJSON([]byte(text)) != nil {
			if s.String() != (Settings{}).String() {
				t.Fatalf("%q is refused, and read as %v", text, s)
			}
			return
		}
		printed, err := json.Marshal(s)
		if s.Check() != nil {
			return
		}
		if err != nil {
			t.Fatalf("%q is read as %v: %v", text, s, err)
		}
		if err := json.Unmarshal(printed, &back); err != nil || back.String() != s.String() && Redact(s["store"]) == s["store"] {
			t.Fatalf("%q is read as %v, printed as %s, and read back as %v, %v", text, s, printed, back, err)
		}
	})
}

// An error has at most 32 bytes of a value.
func TestLongValues(t *testing.T) {
	for length, want := range map[int]string{32: `is "` + strings.Repeat("x", 32) + `"; must be`, 33: `is "` + strings.Repeat("x", 32) + `"…; must be`} {
		if err := new(Settings).Set("epoch", strings.Repeat("x", length)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a value of %d bytes: %v", length, err)
		}
	}
}

// Prefixes of 1 and of 61 bits are the narrowest and the widest.
func TestWorkerPrefixBounds(t *testing.T) {
	for _, prefix := range []string{"0/1", "1/1", "0/61", "2305843009213693951/61"} {
		s := Settings{"assigner": "static", "worker_id": "0", "worker_prefix": prefix}
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
	}
}

// A name of up to 64 bytes is compared with those that exist. A longer one is not a misspelling.
func TestLongNames(t *testing.T) {
	for length, want := range map[int]bool{64: true, 65: false} {
		prefix := strings.Repeat("P", length-len("_LAYUOT")) + "_"
		err := CheckEnviron(prefix, []string{prefix + "LAYUOT=x"})
		if err == nil || strings.Contains(err.Error(), "did you mean "+prefix+"LAYOUT?") != want {
			t.Errorf("a name of %d bytes: %v", length, err)
		}
	}
}

// Without Backend.Hostname, an ordinal is that of os.Hostname.
func TestOrdinalOfThisHost(t *testing.T) {
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{"assigner": "recycled", "store": "file:" + filepath.Join(t.TempDir(), "slots"), "worker_id": "ordinal"}
	_, want := s.NewAssigner(Backend{Hostname: hostname})
	_, got := s.NewAssigner(Backend{})
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("NewAssigner() = %v, and with the host name %q: %v", got, hostname, want)
	}
}

// An option that is nil is an error, as in the constructors.
func TestNilOption(t *testing.T) {
	for _, kind := range []string{"cached", "default"} {
		if g, err := (Settings{"generator": kind}).NewGenerator(t.Context(), workerassign.Static(1), nil); g != nil || !errors.Is(err, uid.ErrOption) {
			t.Errorf("%s: %v, %v", kind, g, err)
		}
	}
}
