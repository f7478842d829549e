package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readFile reads a YAML file: a mapping of the names of settings, of "tokens" and of "uid". Relative names of files in it are
// relative to its directory.
func (r *configReader) readFile(path string, known map[string]setting) {
	root, ok := r.document(path)
	r.unread = !ok
	if root == nil {
		return
	}
	f := configFile{configReader: r, path: path}
	for _, p := range f.pairs(root, "the file") {
		switch st, ok := known[p.key]; {
		case ok:
			f.setting(st, p)
		case p.key == "tokens":
			f.tokens(p)
		case p.key == "uid":
			f.section(p)
		default:
			r.fail(f.at(p.node), "has the unknown key %q; %s", p.key, nearest(p.key, known))
		}
	}
}

// document returns the mapping that a YAML file consists of: nil for an empty file. If there is another content, it adds a fault, and
// ok is false.
func (r *configReader) document(path string) (root *yaml.Node, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		r.fail("--config", "cannot be read: %v", err)
		return nil, false
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, true
	case err != nil:
		r.fail(path, "is not YAML: %v", err)
		return nil, false
	case first.Content[0].Kind != yaml.MappingNode:
		r.fail(fmt.Sprintf("%s:%d", path, first.Content[0].Line), "must have a mapping of keys to values for the file")
		return nil, false
	}
	// Settings of a second document would be ignored. They may be the tokens.
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		r.fail(path, "has more than one document; must have one: remove the lines ---")
		return nil, false
	}
	return first.Content[0], true
}

// A configFile is a file that is being read.
type configFile struct {
	*configReader
	path string
}

// A pair is a key and its value.
type pair struct {
	key   string
	node  *yaml.Node // the key
	value *yaml.Node
}

// at returns the place of a node.
func (f configFile) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", f.path, n.Line) }

// pairs returns the keys and values of a mapping. A key that is not a text, or that is there twice, is a fault.
func (f configFile) pairs(n *yaml.Node, what string) []pair {
	if n.Kind != yaml.MappingNode {
		f.fail(f.at(n), "must have a mapping of keys to values for %s", what)
		return nil
	}
	var list []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		p := pair{n.Content[i].Value, n.Content[i], n.Content[i+1]}
		if p.node.Kind != yaml.ScalarNode {
			f.fail(f.at(p.node), "has a key that is not a word")
			continue
		}
		if slices.ContainsFunc(list, func(q pair) bool { return q.key == p.key }) {
			f.fail(f.at(p.node), "has the key %q a second time", p.key)
			continue
		}
		list = append(list, p)
	}
	return list
}

// scalar returns the text of a value.
func (f configFile) scalar(p pair) (string, bool) {
	if p.value.Kind != yaml.ScalarNode || p.value.Tag == "!!null" {
		f.fail(f.at(p.value), "must have one value for %s", p.key)
		return "", false
	}
	return p.value.Value, true
}

// list returns the texts of a list of values.
func (f configFile) list(p pair) []string {
	if p.value.Kind != yaml.SequenceNode {
		f.fail(f.at(p.value), "must have a list for %s, such as [a, b]", p.key)
		return nil
	}
	var words []string
	for _, n := range p.value.Content {
		if word, ok := f.scalar(pair{p.key, p.node, n}); ok {
			words = append(words, word)
		}
	}
	return words
}

// flag returns a value that is true or false.
func (f configFile) flag(p pair) bool {
	text, ok := f.scalar(p)
	if ok && text != "true" && text != "false" {
		f.fail(f.at(p.value), "has %s: %s; must be true or false", p.key, text)
	}
	return text == "true"
}

// number returns a value that is a number, at least 1.
func (f configFile) number(p pair) int {
	text, ok := f.scalar(p)
	n, err := strconv.Atoi(text)
	if ok && (err != nil || n < 1) {
		f.fail(f.at(p.value), "has %s: %s; must be a number, at least 1", p.key, text)
	}
	return max(n, 0)
}

// setting sets a setting. Those of files are relative to the directory of the file.
func (f configFile) setting(st setting, p pair) {
	var text string
	if p.value.Kind == yaml.SequenceNode {
		words := f.list(p)
		if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, ",") }); i >= 0 {
			f.fail(f.at(p.value), "has a comma in %q; must not have one", words[i])
			return
		}
		text = strings.Join(words, ",")
	} else {
		var ok bool
		if text, ok = f.scalar(p); !ok {
			return
		}
	}
	switch st.name {
	case "tls-cert", "tls-key":
		text = f.relative(text)
	case "store", "tag-store":
		if path := strings.TrimPrefix(text, "file:"); (path != text || strings.HasPrefix(path, ".")) && !strings.HasPrefix(path, "/") && !filepath.IsAbs(path) {
			// With another working directory, it would be another file, whose worker IDs are the same.
			f.fail(f.at(p.node)+": "+st.name, "is %q, a relative path; must be absolute in a file of settings", text)
		}
	}
	f.set(st, f.at(p.node)+": "+st.name, text)
}

// relative returns the path of a file that is named in the configuration.
func (f configFile) relative(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.path), path)
}

// tokens reads the list of tokens.
func (f configFile) tokens(p pair) {
	f.where["tokens"] = f.at(p.node) + ": tokens"
	if p.value.Kind != yaml.SequenceNode || len(p.value.Content) == 0 { // an empty list would mean that there are no tokens
		f.fail(f.at(p.value), "must have a list of at least one token for tokens")
		return
	}
	for _, n := range p.value.Content {
		var t Token
		hasSecret := 0
		for _, p := range f.pairs(n, "a token") {
			switch p.key {
			case "name":
				t.Name, _ = f.scalar(p)
			case "token":
				t.Secret, _ = f.scalar(p)
				hasSecret++
			case "token-file":
				hasSecret++
				if path, ok := f.scalar(p); ok {
					var err error
					if t.Secret, err = readSecret(f.relative(path)); err != nil {
						f.fail(f.at(p.value)+": token-file", "%v", err)
					}
				}
			case "uids":
				t.UIDs = f.flag(p)
			case "observe":
				t.Observe = f.flag(p)
			case "tags":
				t.Tags = f.list(p)
			case "rate":
				t.Rate = f.number(p)
			default:
				f.fail(f.at(p.node), "has the unknown key %q in a token; the keys are name, token, token-file, uids, tags, observe and rate", p.key)
			}
		}
		if hasSecret != 1 {
			f.fail(f.at(n), "must have either token or token-file for the token %q", t.Name)
		}
		f.cfg.Tokens = append(f.cfg.Tokens, t)
	}
}

// section reads the settings of the generator.
func (f configFile) section(p pair) {
	pairs := f.pairs(p.value, "uid")
	if len(pairs) == 0 {
		return
	}
	for _, q := range pairs {
		f.where[uidName(q.key)] = f.at(q.node) + ": " + uidName(q.key)
	}
	if err := p.value.Decode(&f.cfg.UID); err != nil {
		f.failSettings(f.at(p.node)+": uid", err)
	}
}

// nearest returns the advice for a key that does not exist.
func nearest(key string, known map[string]setting) string {
	normal := strings.ToLower(strings.ReplaceAll(key, "_", "-"))
	if _, ok := known[normal]; ok {
		return "the key is " + normal
	}
	return "doc/server.md lists the keys"
}
