# BoringSSL's two libraries as archives in OUT, from the unpacked source of Debian's package; run in its folder.
# Debian's list of files is used, its flags are not: OPENSSL_SMALL is left out.
include debian/sources.mk
CC = ccache clang-19
CXX = ccache clang++-19
AR = llvm-ar-19
flags = -O2 -fPIC -fvisibility=hidden -fno-strict-aliasing -fstack-protector-strong -D_FORTIFY_SOURCE=2 -DNDEBUG \
  -DBORINGSSL_IMPLEMENTATION -Isrc/include -Isrc/crypto
objects = $(patsubst %,$(OUT)/objects/%.o,$(1))

all: $(OUT)/libcrypto.a $(OUT)/libssl.a
$(OUT)/libcrypto.a: $(call objects,$(crypto_sources) $(linux_$(shell uname -m)_sources))
	$(AR) rcs $@ $^
$(OUT)/libssl.a: $(call objects,$(ssl_sources))
	$(AR) rcs $@ $^
$(OUT)/objects/%.c.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(flags) -c -o $@ $<
$(OUT)/objects/%.cc.o: %.cc
	@mkdir -p $(@D)
	$(CXX) -std=gnu++17 -fno-exceptions $(flags) -c -o $@ $<
$(OUT)/objects/%.S.o: %.S
	@mkdir -p $(@D)
	$(CC) $(flags) -c -o $@ $<
