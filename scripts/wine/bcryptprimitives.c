// The one function of Windows' bcryptprimitives.dll that Go's runtime calls, for versions of
// Wine that do not have that library. scripts/wine.sh builds it.

#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
	return RtlGenRandom(data, size);
}
