package lockedfile

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// ID returns what identifies an open file on its volume: the file's index, which NTFS does not use
// again.
func ID(file *os.File) (string, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(file.Fd()), &info); err != nil {
		return "", &os.PathError{Op: "GetFileInformationByHandle", Path: file.Name(), Err: err}
	}
	return fmt.Sprintf("%x.%x", info.FileIndexHigh, info.FileIndexLow), nil
}
