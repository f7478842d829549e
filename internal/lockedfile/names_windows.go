package lockedfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// names returns how many names an open file has.
func names(file *os.File) (int, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(file.Fd()), &info); err != nil {
		return 0, &os.PathError{Op: "GetFileInformationByHandle", Path: file.Name(), Err: err}
	}
	return int(info.NumberOfLinks), nil
}
