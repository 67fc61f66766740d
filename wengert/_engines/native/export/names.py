"""Names of an exported program in C: identifiers that neither C, C++, their headers nor their libraries use."""

from __future__ import annotations

import re


def _words(text: str, end: str = "") -> frozenset[str]:
    return frozenset(f"{word}{end}" for word in text.split())


_FUNCTIONS = """
exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh cbrt erf erfc lgamma_r
tgamma pow atan2 hypot fmod nextafter sqrt floor ceil trunc rint fma fmax fmin copysign sincos
"""
# the C maths library's functions that programs call; compilers make one call, sincos, of a sine and a cosine
MATHS = _words(_FUNCTIONS) | _words(_FUNCTIONS, "f")

# keywords, and what C's headers define as macros: whoever includes ours may have included any of them before
_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
main asm typeof

alignas alignof and and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl
concept const_cast consteval constexpr constinit decltype delete dynamic_cast explicit export friend mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires static_assert
static_cast template this thread_local throw try typeid typename using virtual wchar_t xor xor_eq

NULL NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL MATH_ERRNO MATH_ERREXCEPT EXIT_SUCCESS EXIT_FAILURE RAND_MAX MB_CUR_MAX
OVERFLOW UNDERFLOW DOMAIN SING PLOSS TLOSS alloca errno linux unix i386 offsetof isfinite isinf isnan isnormal signbit
fpclassify isgreater isless size_t ptrdiff_t max_align_t div_t ldiv_t lldiv_t double_t float_t

I assert complex imaginary isgreaterequal islessequal islessgreater isunordered kill_dependency math_errhandling
noreturn stderr stdin stdout BUFSIZ CMPLX CMPLXF CMPLXL DECIMAL_DIG EOF L_tmpnam WEOF

cdecl far hyper interface max min near pascal small

complex_double complex_float
"""
_MACROS = re.compile(
    r"(U?INT(_LEAST|_FAST)?(8|16|32|64)|U?INT(MAX|PTR)|SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC)_(C|MAX|MIN)"
    r"|u?int(_least|_fast)?(8|16|32|64)_t|u?int(max|ptr)_t|M_\w+|own_\w+|(atomic|va)_\w+"
    r"|([SU]?CHAR|U?(SHRT|INT|LONG|LLONG)|MB_LEN|FILENAME|FOPEN|TMP)_(MAX|MIN|BIT)|(PRI|SCN)[A-Zdioux]\w+"
    r"|(ATOMIC|CLOCKS|DBL|FE|FLT|FP|LC|LDBL|ONCE_FLAG|SEEK|SIG|TIME|TSS)_[A-Z]\w*|SIG[A-Z0-9]{2,}|E[A-Z0-9]{2,}"
)

# what generated files call or declare themselves, and functions that <math.h> of some systems has beside C's own
_OURS = """
derive done free grow held log_gamma malloc memcpy memset more realloc sizes status take work abs fabs j0 j1 jn y0 y1
yn gamma lgamma signgam maximum minimum add_wraps mul_wraps
"""

# functions of C's and POSIX's libraries: another one of such a name would be called in their place, or not at all
_LIBRARY = """
abort abs atexit atof atoi atol atoll bsearch calloc div exit getenv labs ldiv llabs lldiv malloc mblen mbtowc
posix_memalign putenv qsort quick_exit rand rand_r random realloc free srand srandom drand48 strtod strtof strtol
strtoll strtold strtoul strtoull system wctomb aligned_alloc at_quick_exit

memchr memcmp memcpy memmove memset memccpy mempcpy stpcpy strcat strchr strcmp strcoll strcpy strcspn strdup strndup
strerror strlen strnlen strncat strncmp strncpy strpbrk strrchr strsep strsignal strspn strstr strtok strxfrm index
rindex bcopy bzero bcmp ffs strcasecmp strncasecmp

clearerr fclose fdopen feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen fscanf fseek
fsetpos ftell fwrite getc getchar gets getline getdelim perror popen pclose printf dprintf putc putchar puts remove
rename rewind scanf setbuf setvbuf snprintf sprintf sscanf tmpfile tmpnam ungetc vfprintf vprintf vsnprintf vsprintf
vscanf vsscanf vfscanf stdin stdout stderr

acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh cbrt ceil copysign erf erfc exp exp2 exp10 expm1
fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint
lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalb scalbln scalbn significand sqrt
tgamma trunc drem finite gamma j0 j1 jn y0 y1 yn cabs carg cexp cimag clog conj cpow cproj creal csqrt csin ccos ctan

isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit toascii
tolower toupper setlocale localeconv setjmp longjmp signal raise kill alarm pause sleep usleep nanosleep clock time
times difftime mktime asctime ctime gmtime localtime strftime daylight timezone tzname

accept access acct bind brk chdir chmod chown chroot close connect creat crypt dup dup2 environ execl execle execlp
execv execve execvp fcntl fork fsync ftruncate getcwd getpid getppid getuid glob ioctl isatty link listen lockf lseek
mkdir mknod mmap mount msync munmap nice open openat optarg optind opterr optopt getopt pipe poll pread pwrite read
readlink readv recv reboot rmdir sbrk select send shutdown socket splice stat swab symlink sync syscall tee truncate
ttyname umask uname unlink utime vfork wait waitpid write writev basename dirname err warn error hsearch lsearch lfind
tsearch tfind twalk insque remque a64l l64a ecvt fcvt gcvt getsubopt mktemp mkstemp realpath regcomp regexec syslog
wordexp
"""


_RESERVED = _words(_WORDS) | _words(_OURS) | MATHS
_FOREIGN = _words(_LIBRARY) | _words(_LIBRARY, "f") | _words(_LIBRARY, "l")  # of float and long double, too


def c_name(name: str) -> str:
    """A name as an identifier of C and C++."""
    found = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "function"
    found = f"f_{found}" if found[0].isdigit() else found
    is_taken = found in _RESERVED or _MACROS.fullmatch(found)
    return f"{found}_" if is_taken else found


def function_name(name: str) -> str:
    """A name as one of a function, which no library has."""
    found = c_name(name)
    return f"{found}_" if found in _FOREIGN else found


def unique(name: str, taken: set[str]) -> str:
    """An identifier of C that is not taken yet, and now is."""
    base = found = c_name(name)
    number = 1
    while found in taken:
        number += 1
        found = f"{base}_{number}"
    taken.add(found)
    return found


__all__ = ["MATHS", "c_name", "function_name", "unique"]
