// The only function of the Windows library bcryptprimitives.dll that Go's runtime calls. It is for versions
// of Wine without that library. scripts/wine.sh builds it.

#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
	return RtlGenRandom(data, size);
}
