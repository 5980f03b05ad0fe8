// Command oracle answers, with Kubernetes' own code, what Kubernetes thinks of a certificate signing request.
//
// It reads one JSON question per line on stdin and writes one JSON verdict per line on stdout, in the same order.
// Tests compare certmarshal's judgement with it: whatever certmarshal approves, upstream must accept as well.
package main

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"k8s.io/apimachinery/pkg/util/sets"
	certificates "k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/certificates/validation"
)

// question is one CertificateSigningRequest, reduced to the fields that upstream looks at; or only a certificate, or a
// bundle of certificates.
type question struct {
	ID string `json:"id"`
	// Certificate is DER.
	Certificate []byte `json:"certificate,omitempty"`
	// Bundle is PEM.
	Bundle []byte `json:"bundle,omitempty"`
	// Request is spec.request: base64 of the PEM text, exactly as in the API object.
	Request  []byte   `json:"request"`
	Usages   []string `json:"usages"`
	Username string   `json:"username"`
}

// verdict is what upstream makes of a question. Fields after KubeletServing are zero when Parsed is false.
type verdict struct {
	ID         string `json:"id"`
	Parsed     bool   `json:"parsed"`
	ParseError string `json:"parseError,omitempty"`
	// KubeletServing is true when ValidateKubeletServingCSR accepts; Error says why it does not.
	KubeletServing bool     `json:"kubeletServing"`
	Error          string   `json:"error,omitempty"`
	DNSNames       []string `json:"dnsNames"`
	IPAddresses    []string `json:"ipAddresses"`
	URIs           int      `json:"uris"`
	Emails         int      `json:"emails"`
	CommonName     string   `json:"commonName"`
	Organization   []string `json:"organization"`
	SignatureValid bool     `json:"signatureValid"`
	// ValidObject is true when the API server's create validation accepts the whole object.
	ValidObject      bool     `json:"validObject"`
	ValidationErrors []string `json:"validationErrors"`
	// Blocks are the SHA-256 of the certificates of a bundle.
	Blocks []string `json:"blocks"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// run answers on all cores and writes in the order of the questions.
func run(in io.Reader, out io.Writer) error {
	cores := runtime.GOMAXPROCS(0)
	jobs := make(chan job, cores)
	for range cores {
		go func() {
			for next := range jobs {
				next.answer <- answer(next.line)
			}
		}()
	}
	// Deep enough to keep every core busy while one answer takes long; full means: stop reading for now.
	ordered := make(chan chan verdict, 64*cores)
	failed := make(chan error, 1)
	go func() {
		failed <- read(in, jobs, ordered)
		close(jobs)
		close(ordered)
	}()
	if err := write(out, ordered); err != nil {
		return err
	}
	return <-failed
}

// job is one line to answer. The answer has room for one verdict, so that nobody waits to hand it over.
type job struct {
	line   []byte
	answer chan verdict
}

func read(in io.Reader, jobs chan<- job, ordered chan<- chan verdict) error {
	reader := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			next := job{line: line, answer: make(chan verdict, 1)}
			ordered <- next.answer
			jobs <- next
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func write(out io.Writer, ordered <-chan chan verdict) error {
	writer := bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for next := range ordered {
		if err := encoder.Encode(<-next); err != nil {
			return err
		}
		// Nothing more is under way: the asker may be waiting for what is buffered here.
		if len(ordered) == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
	}
	return writer.Flush()
}

func answer(line []byte) verdict {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		// One unreadable question must not end the stream, nor shift the answers that follow it.
		result := empty(asked.ID, "question: "+err.Error())
		result.ValidationErrors = append(result.ValidationErrors, result.ParseError)
		return result
	}
	if asked.Certificate != nil {
		return judgeCertificate(asked)
	}
	if asked.Bundle != nil {
		return judgeBundle(asked)
	}
	return judge(asked)
}

func judge(asked question) verdict {
	result := empty(asked.ID, "")
	result.ValidationErrors = validate(asked)
	result.ValidObject = len(result.ValidationErrors) == 0

	request, err := certificates.ParseCSR(asked.Request)
	if err != nil {
		result.ParseError = err.Error()
		return result
	}
	result.Parsed = true
	result.SignatureValid = request.CheckSignature() == nil
	if err := certificates.ValidateKubeletServingCSR(request, sets.NewString(asked.Usages...)); err != nil {
		result.Error = err.Error()
	} else {
		result.KubeletServing = true
	}
	describe(&result, request)
	return result
}

func describe(result *verdict, request *x509.CertificateRequest) {
	result.DNSNames = append(result.DNSNames, request.DNSNames...)
	for _, address := range request.IPAddresses {
		result.IPAddresses = append(result.IPAddresses, address.String())
	}
	result.URIs = len(request.URIs)
	result.Emails = len(request.EmailAddresses)
	result.CommonName = request.Subject.CommonName
	result.Organization = append(result.Organization, request.Subject.Organization...)
}

// validate runs the API server's validation on the object as a client would have sent it.
func validate(asked question) []string {
	object := &certificates.CertificateSigningRequest{}
	object.Name = "csr-oracle"
	object.Spec.Request = asked.Request
	object.Spec.SignerName = certificates.KubeletServingSignerName
	object.Spec.Username = asked.Username
	for _, usage := range asked.Usages {
		object.Spec.Usages = append(object.Spec.Usages, certificates.KeyUsage(usage))
	}
	messages := []string{}
	for _, problem := range validation.ValidateCertificateSigningRequestCreate(object) {
		// Not problem.Error(): that repeats the whole request, byte by byte.
		messages = append(messages, fmt.Sprintf("%s: %s: %s", problem.Field, problem.Type, problem.Detail))
	}
	return messages
}

func empty(id, parseError string) verdict {
	return verdict{
		ID:               id,
		ParseError:       parseError,
		DNSNames:         []string{},
		IPAddresses:      []string{},
		Organization:     []string{},
		ValidationErrors: []string{},
		Blocks:           []string{},
	}
}
