package main

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
)

// judgeCertificate says whether Go, and so all of Kubernetes, reads a certificate in DER, and can verify with it.
func judgeCertificate(asked question) verdict {
	certificate, err := x509.ParseCertificate(asked.Certificate)
	if err != nil {
		return empty(asked.ID, err.Error())
	}
	if unhandled := certificate.UnhandledCriticalExtensions; len(unhandled) > 0 {
		return empty(asked.ID, "unhandled critical extension "+unhandled[0].String())
	}
	result := empty(asked.ID, "")
	result.Parsed = true
	return result
}

// judgeBundle reads PEM as x509.CertPool.AppendCertsFromPEM does, which kube-apiserver calls for a caBundle.
func judgeBundle(asked question) verdict {
	result := empty(asked.ID, "")
	for rest := asked.Bundle; len(rest) > 0; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		if block.Type == "CERTIFICATE" && len(block.Headers) == 0 {
			digest := sha256.Sum256(block.Bytes)
			result.Blocks = append(result.Blocks, hex.EncodeToString(digest[:]))
		}
	}
	result.Parsed = x509.NewCertPool().AppendCertsFromPEM(asked.Bundle)
	return result
}
