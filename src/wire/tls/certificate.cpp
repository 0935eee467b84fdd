#include "wire/tls/certificate.hpp"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/mem.h>
#include <openssl/nid.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <limits>

#include "base/check.hpp"

namespace latchkey::tls {

namespace {

std::string subject_of(X509* leaf) {
    bssl::UniquePtr<BIO> const text(BIO_new(BIO_s_mem()));
    base::check(text != nullptr, "no memory for a BIO");
    X509_NAME_print_ex(text.get(), X509_get_subject_name(leaf), 0, XN_FLAG_RFC2253);
    std::uint8_t const* bytes = nullptr;
    std::size_t size = 0;
    BIO_mem_contents(text.get(), &bytes, &size);
    std::string subject(reinterpret_cast<char const*>(bytes), size);
    return subject.empty() ? "a certificate without a subject" : subject;
}

std::string text_of(GENERAL_NAME const& name) {
    if (name.type == GEN_DNS) {
        auto const* const bytes = ASN1_STRING_get0_data(name.d.dNSName);
        return {reinterpret_cast<char const*>(bytes),
                static_cast<std::size_t>(ASN1_STRING_length(name.d.dNSName))};
    }
    if (name.type != GEN_IPADD) return {};
    int const size = ASN1_STRING_length(name.d.iPAddress);
    int const family = size == 4 ? AF_INET : AF_INET6;
    char text[INET6_ADDRSTRLEN] = {};
    if (size == 4 || size == 16)
        inet_ntop(family, ASN1_STRING_get0_data(name.d.iPAddress), text, sizeof text);
    return text;
}

std::string names_of(X509* leaf) {
    bssl::UniquePtr<GENERAL_NAMES> const names(static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(leaf, NID_subject_alt_name, nullptr, nullptr)));
    ERR_clear_error();
    std::string all;
    for (std::size_t i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        auto const text = text_of(*sk_GENERAL_NAME_value(names.get(), i));
        if (text.empty()) continue;
        if (!all.empty()) all.append(", ");
        all.append(text);
    }
    return all.empty() ? "no names" : all;
}

std::string timestamp(base::wall_ms time) {
    std::string text(base::timestamp_bytes, '\0');
    base::format_timestamp(time, text.data());
    return text;
}

}  // namespace

base::wall_ms wall_of(ASN1_TIME const* time) {
    bssl::UniquePtr<ASN1_TIME> const epoch(ASN1_TIME_set(nullptr, 0));
    int days = 0, seconds = 0;
    if (epoch == nullptr || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) {
        ERR_clear_error();
        return 0;
    }
    return (days * std::int64_t{86'400} + seconds) * 1000;
}

std::string summarize(X509* leaf, EVP_PKEY* key, base::wall_ms now) {
    auto const not_before = wall_of(X509_get0_notBefore(leaf));
    auto const not_after = wall_of(X509_get0_notAfter(leaf));
    std::string text = subject_of(leaf) + " (" + names_of(leaf) + "), ";
    text.append(EVP_PKEY_id(key) == EVP_PKEY_RSA ? "RSA " : "ECDSA P-");
    text.append(std::to_string(EVP_PKEY_bits(key)))
        .append(", valid until ")
        .append(timestamp(not_after));
    if (now > not_after)
        text.append(" (warning: EXPIRED)");
    else if (now < not_before)
        text.append(" (warning: not valid before ").append(timestamp(not_before)).append(")");
    return text;
}

}  // namespace latchkey::tls
