package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// survivor says which change was made, without line numbers.
type survivor struct {
	pkg, file string // the directory of the package, and the file below it
	function  string // the function as (*Ring).Take, or what is declared if that is outside of a function
	operator  string // what gremlins calls the change
	expr      string // the expression before the change
	reason    string // why no test can notice it; empty if the mutant was found, and not listed
}

// String returns the survivor as it is listed.
func (s survivor) String() string {
	return fmt.Sprintf("%s %s %s: %s '%s' – %s", s.pkg, s.file, s.function, s.operator, s.expr, cmp.Or(s.reason, "?"))
}

// key returns the survivor without the reason.
func (s survivor) key() survivor {
	s.reason = ""
	return s
}

var survivorPattern = regexp.MustCompile(`^(\S+) (\S+) (.+?): ([A-Z_]+) '(.*)' – (.*\w.*)$`)

// parseSurvivors reads the list of survivors: one on each line. Empty lines and those that begin with # are comments.
func parseSurvivors(text string) (list []survivor, err error) {
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		m := survivorPattern.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d must be: package file.go function: OPERATOR 'expression' – reason", n+1)
		}
		list = append(list, survivor{m[1], m[2], m[3], m[4], m[5], m[6]})
	}
	return list, nil
}
