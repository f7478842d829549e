package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/server"
	"github.com/ringuid/ringuid/internal/testkit"
)

const deploy = "../../deploy/"

// readDeploy returns a file of deploy.
func readDeploy(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(deploy + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// variables returns a LookupEnv.
func variables(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		text, ok := env[name]
		return text, ok
	}
}

// The example of a file is valid, also with its lines that are comments.
func TestExampleFile(t *testing.T) {
	cfg, err := server.ReadConfig(server.Sources{File: deploy + "ringuid.yaml", LookupEnv: variables(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Store == "" || cfg.TagStore == "" || cfg.UID["layout"] == "" {
		t.Errorf("%+v", cfg)
	}
	text := strings.ReplaceAll(readDeploy(t, "ringuid.yaml"), "\n#", "\n")
	text = text[strings.Index(text, "tokens:\n"):]
	dir := t.TempDir()
	for i, name := range []string{"shop", "prometheus"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, fmt.Appendf(nil, "0123456789abcdef%d\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "/etc/ringuid/"+name+".token", file)
	}
	file := filepath.Join(dir, "ringuid.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, err = server.ReadConfig(server.Sources{File: file, LookupEnv: variables(nil)}); err != nil || len(cfg.Tokens) != 2 {
		t.Errorf("%d tokens, %v", len(cfg.Tokens), err)
	}
}

// manifest has the parts of kubernetes.yaml that belong together.
type manifest struct {
	Kind string
	Data map[string]string
	Spec struct {
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
				Containers                    []struct {
					Args []string
					Env  []struct {
						Name, Value string
						ValueFrom   any `yaml:"valueFrom"`
					}
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					StartupProbe   probe `yaml:"startupProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
					LivenessProbe  probe `yaml:"livenessProbe"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// The manifest's settings are valid, its probes are paths of the server, and it gives the server time to end.
func TestKubernetesManifest(t *testing.T) {
	var pod, config manifest
	kinds := []string{}
	for d := yaml.NewDecoder(strings.NewReader(readDeploy(t, "kubernetes.yaml"))); ; {
		var m manifest
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, m.Kind)
		switch m.Kind {
		case "Deployment":
			pod = m
		case "ConfigMap":
			config = m
		}
	}
	if want := []string{"ConfigMap", "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"}; !slices.Equal(kinds, want) {
		t.Fatalf("the manifest has %q", kinds)
	}
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	file := filepath.Join(dir, "ringuid.yaml")
	if err := errors.Join(os.WriteFile(token, []byte("0123456789abcdef"), 0o600), os.WriteFile(file, []byte(config.Data["ringuid.yaml"]), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := pod.Spec.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, e := range c.Env {
		switch e.Name {
		case "RINGUID_STORE":
			env[e.Name] = "mysql://ringuid:secret@db:3306/ids?assign=recycled"
		case "RINGUID_TOKEN_FILE":
			env[e.Name] = token
		default:
			t.Errorf("the variable %s is not known to this test", e.Name)
		}
	}
	cfg, err := server.ReadConfig(server.Sources{File: file, LookupEnv: variables(env)})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Tokens) != 1 || cfg.Store == "" || cfg.Listen != fmt.Sprintf(":%d", c.Ports[0].ContainerPort) || !slices.Equal(c.Args, []string{"serve", "--config", "/etc/ringuid/ringuid.yaml"}) {
		t.Errorf("%+v, and the container %+v", cfg, c)
	}
	if grace := time.Duration(pod.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second; grace < cfg.Drain+cfg.ShutdownTimeout+10*time.Second {
		t.Errorf("the grace period is %v, and the server takes up to %v and the time to release its worker ID", grace, cfg.Drain+cfg.ShutdownTimeout)
	}
	for path, p := range map[string]probe{"startup /healthz": c.StartupProbe, "readiness /readyz": c.ReadinessProbe, "liveness /healthz": c.LivenessProbe} {
		if name, want, _ := strings.Cut(path, " "); p.HTTPGet.Path != want || p.HTTPGet.Port != c.Ports[0].Name {
			t.Errorf("the %s probe is %+v", name, p)
		}
	}
}

// The unit is accepted by systemd-analyze, and its command line by the server's configuration.
func TestSystemdUnit(t *testing.T) {
	unit := readDeploy(t, "ringuid.service")
	if !strings.Contains(unit, "\nExecStart=/usr/local/bin/ringuid serve --config /etc/ringuid/ringuid.yaml\n") {
		t.Error("the command line is another one")
	}
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		testkit.Missing(t, "systemd-analyze is not installed; install Debian's package systemd")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "ringuid.service")
	verify := func(text string) string {
		t.Helper()
		// verify requires that the command exists.
		text = strings.Replace(text, "/usr/local/bin/ringuid", "/bin/true", 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "verify", "--man=no", file)
		cmd.Env = append(os.Environ(), "SYSTEMD_LOG_LEVEL=warning")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return string(out) + err.Error()
		}
		return string(out)
	}
	about := func(out string) (lines []string) { // other units of this machine may be wrong
		for line := range strings.Lines(out) {
			if strings.Contains(line, "ringuid.service") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	control := verify(strings.Replace(unit, "[Service]\n", "[Service]\nProtectSystemm=strict\n", 1))
	if len(about(control)) == 0 {
		testkit.Missing(t, "systemd-analyze finds nothing here: ", control)
	}
	if out := about(verify(unit)); len(out) > 0 {
		t.Errorf("%q", out)
	}
}

// The container file builds the command without cgo, and its variables are settings. Without a store in the command line, the server does not
// start: containers without a common volume would have the same worker ID.
func TestContainerfile(t *testing.T) {
	text := readDeploy(t, "Containerfile")
	set := func(env map[string]string, text string) map[string]string {
		for _, m := range regexp.MustCompile(`(RINGUID_[A-Z_]+)=(\S+)`).FindAllStringSubmatch(text, -1) {
			env[m[1]] = m[2]
		}
		return env
	}
	env := set(map[string]string{}, text[strings.Index(text, "\nENV "):])
	cfg, err := server.ReadConfig(server.Sources{LookupEnv: variables(env)})
	if err != nil || cfg.Store != "" || cfg.Listen != ":8080" || cfg.LogFormat != "json" || len(env) != 2 || strings.Contains(text, "\nVOLUME") {
		t.Errorf("%v: %+v, %v", env, cfg, err)
	}
	run := regexp.MustCompile(`podman run .* -v ringuid:(\S+) .* ringuid:1\n`).FindStringSubmatch(text)
	if run == nil {
		t.Fatal("there is no example of podman run with a volume")
	}
	cfg, err = server.ReadConfig(server.Sources{LookupEnv: variables(set(env, strings.ReplaceAll(run[0], "…", "0123456789abcdef")))})
	if err != nil || cfg.Store != run[1]+"/worker" || len(cfg.Tokens) != 1 {
		t.Errorf("%q: %+v, %v", run[0], cfg, err)
	}
	for _, want := range []string{"CGO_ENABLED=0 go build", "USER 65532:65532", "EXPOSE 8080", `ENTRYPOINT ["/ringuid"]`, `CMD ["serve"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

// Each example of a client takes UIDs from a real server, and numbers if it has tags, with and without a token, and fails without one
// where one is required.
func TestClientExamples(t *testing.T) {
	clients := map[string][]string{"curl": {"sh", "client.sh"}, "python3": {"python3", "client.py"}, "node": {"node", "client.mjs"}}
	id := `\d{15,19}`
	want := map[string]string{
		"curl":    `{"id":"` + id + `"}\n{"ids":\["` + id + `","` + id + `","` + id + `"\]}\n`,
		"python3": id + `\n\[` + id + `, ` + id + `, ` + id + `\]\n`,
		"node":    id + `n?\n\[\s+'` + id + `',\s+'` + id + `',\s+'` + id + `'\s+\]\n`,
	}
	numbers := map[string]string{"curl": `{"id":"\d+"}\n\d+`, "python3": `\d+\n`, "node": `\d+\n`}
	file := filepath.Join(t.TempDir(), "workers")
	newTagFile(t, file, "orders")
	token := "0123456789abcdef0123"
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, withToken := range []bool{false, true} {
		args := []string{"--store", file, "--listen", "127.0.0.1:0", "--drain", "0s", "--request-timeout", "2m", "--write-timeout", "3m"}
		if withToken {
			args = append(args, "--tag-store", file, "--token-file", tokenFile)
		}
		p := startProcess(t, args...)
		for name, command := range clients {
			if _, err := exec.LookPath(name); err != nil {
				testkit.Missing(t, name+" is not installed")
			}
			run := func(args ...string) (string, error) {
				cmd := exec.CommandContext(testkit.Patient(t), command[0], append([]string{"../../examples/" + command[1], "http://" + p.addr}, args...)...)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				if err != nil {
					err = fmt.Errorf("%w: %s", err, &stderr)
				}
				return string(out), err
			}
			if withToken {
				if out, err := run(); err == nil {
					t.Errorf("%s without a token: %s", name, out)
				}
			}
			args, want := []string{}, want[name]
			if withToken {
				args, want = append(args, token, "orders"), want+numbers[name]
			}
			if out, err := run(args...); err != nil || !regexp.MustCompile("^"+want+"$").MatchString(out) {
				t.Errorf("%s: %q, %v", name, out, err)
			}
		}
		p.stop()
	}
}

// The examples with a connection of their own send a request again that met the end of the connection.
func TestClientExamplesSendAgain(t *testing.T) {
	for name, command := range map[string][]string{"python3": {"python3", "client.py"}, "node": {"node", "client.mjs"}} {
		if _, err := exec.LookPath(name); err != nil {
			testkit.Missing(t, name+" is not installed")
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var lost atomic.Int64
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() { // answers one request, and ends at the second one
					defer conn.Close()
					in := bufio.NewReader(conn)
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					body := `{"id":"962392666547429376"}`
					if req.URL.RawQuery != "" {
						body = `{"ids":["1","2","3"]}`
					}
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
					if _, err := http.ReadRequest(in); err == nil {
						lost.Add(1)
					}
				}()
			}
		}()
		out, err := exec.CommandContext(testkit.Patient(t), command[0], "../../examples/"+command[1], "http://"+l.Addr().String(), "", "orders").CombinedOutput()
		l.Close()
		if err != nil || lost.Load() != 2 {
			t.Errorf("%s: %d requests met the end of a connection: %v: %s", name, lost.Load(), err, out)
		}
	}
}

// The example in Python goes on after an answer that was late, or that was none of this server.
func TestClientExampleGoesOn(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		testkit.Missing(t, "python3 is not installed")
	}
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		switch r.URL.Query().Get("n") {
		case "1":
			<-r.Context().Done() // no answer
		case "2":
			fmt.Fprint(w, `{"ids":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done() // half an answer
		case "3":
			fmt.Fprint(w, "<html>")
		case "4":
			fmt.Fprint(w, `{"ids":["7"]}`)
		}
	})
	program := `
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "../../examples")
import client
server = client.Ringuid(sys.argv[1])
for n in 1, 2, 3, 4:
    server._connection.timeout = 1 if n < 3 else 600
    try:
        print(server.uids(n))
    except Exception as e:
        print(type(e).__name__)
`
	out, err := exec.CommandContext(testkit.Patient(t), "python3", "-c", program, s.url).CombinedOutput()
	if want := "TimeoutError\nTimeoutError\nJSONDecodeError\n[7]\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s; want %s", err, out, want)
	}
}

// Clients wait longer than a server does for a number. So they get the reason of a failure, and the server counts it.
func TestClientsWaitForAnswers(t *testing.T) {
	for file, pattern := range map[string]string{
		"blocks/ringuid.py": `timeout=(\d+)\.0`, "blocks/ringuid.mjs": `timeout = (\d+)_000`, "blocks/RingUID.java": `Duration\.ofSeconds\((\d+)`,
		"client.py": `timeout=(\d+)`, "client.mjs": `timeout: (\d+)_000`, "client.sh": `--max-time (\d+)`,
	} {
		text, err := os.ReadFile("../../examples/" + file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil {
			t.Errorf("%s has no %s", file, pattern)
			continue
		}
		if s, _ := strconv.Atoi(string(m[1])); time.Duration(s)*time.Second <= server.DefaultConfig().RequestTimeout {
			t.Errorf("%s waits for %d s; must be more than %v", file, s, server.DefaultConfig().RequestTimeout)
		}
	}
}
