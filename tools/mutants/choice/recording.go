//go:build unix

package choice

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A recording is a file that is mapped into memory, with one element for each change: 1 if its operator was evaluated. A store does not
// enter the kernel, because the rewritten code may be one that must not: package percpu evaluates operators while its goroutine must
// stay on its P. And tests may limit the size of files.
type recording []atomic.Uint32

const recordingSize = (Most + 1) * 4 // bytes

// recordTo returns the recording to a file, or nil if there is no path. It panics if the file cannot be mapped. The mapping ends with
// the process.
func recordTo(path string) recording {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		panic("choice: " + err.Error())
	}
	defer file.Close()
	memory, err := syscall.Mmap(int(file.Fd()), 0, recordingSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic("choice: " + path + ": " + err.Error())
	}
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(unsafe.SliceData(memory))), Most+1)
}

// NewRecording writes a file for the variable Reached. Processes of other users may write to it too.
func NewRecording(path string) error {
	if err := os.WriteFile(path, make([]byte, recordingSize), 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o666)
}

// Recorded returns the numbers in a file that NewRecording has written, in order.
func Recorded(path string) ([]int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for i := range len(data) / 4 {
		if [4]byte(data[4*i:]) != [4]byte{} {
			numbers = append(numbers, i)
		}
	}
	return numbers, nil
}
