package filestore

import (
	"bytes"
	"fmt"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/workerfile"
	"github.com/ringuid/ringuid/segment"
)

// A tagContent is the content of a tagFile. It consists of lines of fields:
//
//	ringuid-segments v1 FILE LOCK MACHINE COPIED GAP
//	tag NAME NEXT STEP DESCRIPTION
//	crc32c=CHECKSUM
//
// FILE, LOCK and MACHINE are the identities of the file that has this content, of its lock file and of the machine.
// COPIED is the time in milliseconds at which a copy was accepted with the gap GAP, 0 if never. NEXT is the next
// number of the tag, 9223372036854775807 if there is none. The tags are in the order of their creation.
type tagContent struct {
	path                string // for errors
	id, lockID, machine string
	copied, copyGap     int64
	tags                []fileTag
	index               map[string]int // the index of a tag in tags
}

// fileTag is one tag of a file.
type fileTag struct {
	name        string
	next        int64
	step        int64
	description string
}

// encode returns the content of a file.
func (c *tagContent) encode() []byte {
	e := lockedfile.Encoder{Out: make([]byte, 0, 256+96*len(c.tags))}
	e.Out = append(e.Out, workerfile.SegmentsHeader...)
	e.Texts(c.id, c.lockID, c.machine)
	e.Numbers(c.copied, c.copyGap)
	for i := range c.tags {
		t := &c.tags[i]
		e.Begin("tag")
		e.Texts(t.name)
		e.Numbers(t.next, t.step)
		e.Texts(t.description)
	}
	return lockedfile.AppendChecksum(append(e.Out, '\n'))
}

// decodeFile returns the content that encode has encoded.
func decodeFile(data []byte) (*tagContent, error) {
	data, ok := lockedfile.CutChecksum(data)
	if !ok {
		return nil, fmt.Errorf("%w: its checksum does not match", lockedfile.ErrContent)
	}
	d := lockedfile.Decoder{Rest: string(data)}
	lines := bytes.Count(data, []byte{'\n'})
	c := &tagContent{tags: make([]fileTag, 0, lines), index: make(map[string]int, lines)}
	d.Prefix(workerfile.SegmentsHeader)
	c.id, c.lockID, c.machine = d.Text(), d.Text(), d.Text()
	c.copied, c.copyGap = d.Number(), d.Number()
	d.Prefix("\n")
	for number := 2; d.Rest != "" && !d.Failed; number++ {
		d.Prefix("tag")
		t := fileTag{name: d.Text(), next: d.Number(), step: d.Number(), description: d.Text()}
		d.Prefix("\n")
		if d.Failed {
			return nil, fmt.Errorf("%w (line %d)", lockedfile.ErrContent, number)
		}
		if err := c.add(t); err != nil {
			return nil, fmt.Errorf("%w (line %d)", err, number)
		}
	}
	if d.Failed || c.copied < 0 || c.copyGap < 0 {
		return nil, fmt.Errorf("%w (line 1)", lockedfile.ErrContent)
	}
	return c, nil
}

// add adds a tag of a file.
func (c *tagContent) add(t fileTag) error {
	if err := segment.CheckTag(t.name); err != nil {
		return err
	}
	if t.next < 0 || t.step < 1 || t.step > segment.MaxStep {
		return fmt.Errorf("%w: the tag %q has the next number %d and the step %d; must be at least 0, and 1 to %d", lockedfile.ErrContent, t.name, t.next, t.step, int64(segment.MaxStep))
	}
	if _, exists := c.index[t.name]; exists {
		return fmt.Errorf("%w: it has the tag %q twice", lockedfile.ErrContent, t.name)
	}
	c.index[t.name] = len(c.tags)
	c.tags = append(c.tags, t)
	return nil
}

// tag returns a tag; nil if there is none.
func (c *tagContent) tag(name string) *fileTag {
	if i, ok := c.index[name]; ok {
		return &c.tags[i]
	}
	return nil
}
