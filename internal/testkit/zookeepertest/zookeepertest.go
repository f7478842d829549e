// Package zookeepertest starts private ZooKeeper servers for tests. A server has a temporary directory and
// a free port on the loopback interface, and is killed and removed at the end of the test.
package zookeepertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// ServersEnv is the name of an environment variable with the addresses of an ensemble, separated by
// commas. If it is set, Servers returns those instead of starting a server.
const ServersEnv = "RINGUID_ZOOKEEPER_SERVERS"

// jars is the directory of Debian's Java libraries.
const jars = "/usr/share/java"

// Server is a ZooKeeper server that runs alone. Its methods must not be called concurrently.
type Server struct {
	*testserver.Process
	tb testing.TB
}

// Servers returns the addresses of ServersEnv, or of a new server.
func Servers(tb testing.TB) []string {
	tb.Helper()
	if list := os.Getenv(ServersEnv); list != "" {
		return strings.Split(list, ",")
	}
	return []string{Start(tb).Address()}
}

// Start starts a server. If ZooKeeper or Java is not installed, or if -short is set, the test is skipped,
// unless all tests must run, see package testkit.
func Start(tb testing.TB) *Server {
	tb.Helper()
	testserver.Require(tb, "Java (Debian's package default-jre-headless)", "java")
	if _, err := os.Stat(filepath.Join(jars, "zookeeper.jar")); err != nil {
		testkit.Missing(tb, "ZooKeeper was not found: install Debian's package libzookeeper-java, or run make test, which does")
	}
	s := &Server{tb: tb}
	s.Process = testserver.New(tb, testserver.Kind{Command: s.command, Ping: s.ping, Ports: 1})
	s.StartNew()
	return s
}

// Backup stops the server, copies its data, and starts it again. It returns the directory of the copy, which replaces the
// one before.
func (s *Server) Backup() string {
	s.tb.Helper()
	s.Kill()
	backup := s.Path("backup")
	if err := errors.Join(os.RemoveAll(backup), os.CopyFS(backup, os.DirFS(s.Path("data")))); err != nil {
		s.tb.Fatal(err)
	}
	s.Restart()
	return backup
}

// Restore kills the server, and starts it again with the data of a backup.
func (s *Server) Restore(backup string) {
	s.tb.Helper()
	s.Kill()
	if err := errors.Join(os.RemoveAll(s.Path("data")), os.CopyFS(s.Path("data"), os.DirFS(backup))); err != nil {
		s.tb.Fatal(err)
	}
	s.Restart()
}

func (s *Server) command() *exec.Cmd {
	cfg := fmt.Sprintf("dataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\ntickTime=500\nmaxSessionTimeout=60000\nmaxClientCnxns=0\nadmin.enableServer=false\n"+
		"4lw.commands.whitelist=srvr,conf\n", s.Path("data"), s.Port(0))
	if err := os.WriteFile(s.Path("zoo.cfg"), []byte(cfg), 0o600); err != nil {
		s.tb.Fatal(err)
	}
	var path []string
	for _, name := range []string{"zookeeper", "slf4j-simple"} {
		path = append(path, filepath.Join(jars, name+".jar"))
	}
	// The flags make the server start faster, and keep it small: its log file grows by 64 KB and not by 64 MB at once, which Backup and
	// Restore would copy.
	return exec.Command("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData", "-Dzookeeper.preAllocSize=64",
		"-Djava.io.tmpdir="+s.Path("tmp"), "-Dzookeeper.jmx.log4j.disable=true", "-cp", strings.Join(path, ":"),
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "org.apache.zookeeper.server.ZooKeeperServerMain", s.Path("zoo.cfg"))
}

// ping returns nil if this server, and not another one on its port, serves requests.
func (s *Server) ping(ctx context.Context) error {
	answer, err := s.ask(ctx, "conf")
	if err == nil && !strings.Contains(answer, "dataDir="+s.Directory()) {
		err = fmt.Errorf("conf: %q", answer)
	}
	return err
}

// Version returns the version of ZooKeeper, such as 3.8.0.
func (s *Server) Version() string {
	s.tb.Helper()
	answer, err := s.ask(s.tb.Context(), "srvr")
	if err != nil {
		s.tb.Fatal(err)
	}
	_, version, _ := strings.Cut(answer, "Zookeeper version: ")
	return version[:strings.IndexAny(version+"-", "-,\n")]
}

// ask returns the answer to a command.
func (s *Server) ask(ctx context.Context, command string) (string, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", s.Address())
	if err != nil {
		return "", err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		c.SetDeadline(deadline)
	}
	if _, err := io.WriteString(c, command); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	return string(answer), err
}
