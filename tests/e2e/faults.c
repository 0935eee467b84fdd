// Fault injection below the program that it is preloaded into: a full or failing disk for the store, and a wrong clock:
//
//     LD_PRELOAD=…/faults.so LATCHKEY_DISK_FAULTS=FILE latchkey serve …
//
// FILE contains the words of `struct faults`, 32 bits each, and may be written at any time; words at its end may be missing.
// It needs no privilege and no separate file system, and affects only store.mdb (and store.mdb.new, from which a new store is
// renamed).
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// The errno with which a call fails; 0: none.
struct faults {
  int32_t fallocate;      // beyond `fallocate_mib`: what the file has already, it keeps
  int32_t fallocate_mib;
  int32_t write;          // of data
  int32_t sync;
  int32_t write_through;  // of the page that makes a commit count, through its O_DSYNC descriptor
  int32_t free_mib;       // what the disk says that it has left; -1: the truth
  int32_t clock_s;        // by how much the wall clock is ahead; the monotonic one is right
};

enum { other, data, through };

static volatile struct faults const none = {.free_mib = -1}, *faults = &none;
static char kinds[4096];  // of descriptors

__attribute__((constructor)) static void begin(void) {
  char const *const file = getenv("LATCHKEY_DISK_FAULTS");
  int const descriptor = file != NULL ? (int)syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor < 0) return;
  void *const mapped = mmap(NULL, sizeof *faults, PROT_READ, MAP_SHARED, descriptor, 0);
  if (mapped != MAP_FAILED) faults = mapped;
  close(descriptor);
}

static int kind_of(int descriptor) {
  return descriptor >= 0 && descriptor < (int)sizeof kinds ? kinds[descriptor] : other;
}

static int ends_with(char const *text, char const *end) {
  size_t const size = strlen(text), end_size = strlen(end);
  return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static volatile int has_failed = 0;

static int failed(int why) {
  has_failed = 1;
  errno = why;
  return -1;
}

static int write_fault(int descriptor) {
  int const kind = kind_of(descriptor);
  return kind == data ? faults->write : kind == through ? faults->write_through : 0;
}

// By their names in the library: with 64-bit offsets a macro renames pwrite to another function.
int open_any(char const *path, int flags, ...) __asm__("open");
ssize_t pwrite_any(int descriptor, void const *bytes, size_t size, off_t offset) __asm__("pwrite");
ssize_t writev_any(int descriptor, struct iovec const *parts, int count) __asm__("writev");
int fdatasync_any(int descriptor) __asm__("fdatasync");
int fallocate_any(int descriptor, int mode, off_t offset, off_t size) __asm__("fallocate");
int fallocate64_any(int descriptor, int mode, off_t offset, off_t size) __asm__("fallocate64");
int fstatfs_any(int descriptor, struct statfs *to) __asm__("fstatfs");
int fstatfs64_any(int descriptor, struct statfs *to) __asm__("fstatfs64");

int open_any(char const *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int const mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  int const descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (descriptor < 0 || descriptor >= (int)sizeof kinds) return descriptor;
  int const ours = ends_with(path, "/store.mdb") || ends_with(path, "/store.mdb.new");
  kinds[descriptor] = !ours ? other : (flags & O_DSYNC) != 0 ? through : data;
  return descriptor;
}

ssize_t pwrite_any(int descriptor, void const *bytes, size_t size, off_t offset) {
  int const fault = write_fault(descriptor);
  return fault != 0 ? failed(fault) : syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

ssize_t writev_any(int descriptor, struct iovec const *parts, int count) {
  int const fault = write_fault(descriptor);
  return fault != 0 ? failed(fault) : syscall(SYS_writev, descriptor, parts, count);
}

int fdatasync_any(int descriptor) {
  int const fault = kind_of(descriptor) == data ? faults->sync : 0;
  return fault != 0 ? failed(fault) : (int)syscall(SYS_fdatasync, descriptor);
}

int fallocate_any(int descriptor, int mode, off_t offset, off_t size) {
  int const fault = kind_of(descriptor) == data ? faults->fallocate : 0;
  if (fault != 0 && offset + size > (off_t)faults->fallocate_mib << 20) return failed(fault);
  return (int)syscall(SYS_fallocate, descriptor, mode, offset, size);
}

int fallocate64_any(int descriptor, int mode, off_t offset, off_t size) {
  return fallocate_any(descriptor, mode, offset, size);
}

int fstatfs_any(int descriptor, struct statfs *to) {
  int const result = (int)syscall(SYS_fstatfs, descriptor, to);
  if (result == 0 && faults->free_mib >= 0) to->f_bavail = ((uint64_t)faults->free_mib << 20) / (uint64_t)to->f_bsize;
  return result;
}

int fstatfs64_any(int descriptor, struct statfs *to) {
  return fstatfs_any(descriptor, to);
}

int clock_gettime(clockid_t which, struct timespec *to) {
  int const result = (int)syscall(SYS_clock_gettime, which, to);
  if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) to->tv_sec += faults->clock_s;
  return result;
}

int gettimeofday(struct timeval *to, void *zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *to = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != NULL) *to = now.tv_sec;
  return now.tv_sec;
}

// Gives the other threads time between a fault and the end of the process, in which they might misbehave.
void _exit(int status) {
  if (has_failed) nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  for (;;) syscall(SYS_exit_group, status);
}
