// Command token-verifier answers, with aws-iam-authenticator's own code, whether a cluster would take a bearer token.
//
// It reads one JSON question per line on stdin and writes one JSON answer per line on stdout, in the same order. The authenticator asks
// STS who signed the token; here the STS is this program, which signs the same request with the credentials of the question by the AWS SDK for
// Go and compares.
package main

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go/aws/credentials"
	v4 "github.com/aws/aws-sdk-go/aws/signer/v4"
	"github.com/sirupsen/logrus"
	"sigs.k8s.io/aws-iam-authenticator/pkg/token"
)

// question is a token, and the cluster that it is shown to.
type question struct {
	Token     string `json:"token"`
	ClusterID string `json:"clusterId"`
	Partition string `json:"partition"`
	Region    string `json:"region"`
	// Identity is what STS knows of the caller.
	Identity struct {
		AccessKeyID     string `json:"accessKeyId"`
		SecretAccessKey string `json:"secretAccessKey"`
		SessionToken    string `json:"sessionToken"`
	} `json:"identity"`
}

type answer struct {
	Accepted bool   `json:"accepted"`
	ARN      string `json:"arn,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

const roleARN = "arn:aws:sts::111122223333:assumed-role/certmarshal-sweep/sweep"

func main() {
	logrus.SetOutput(io.Discard)
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "token-verifier:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		if err := answers.Encode(verify(asked)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func verify(asked question) answer {
	// The verifier's client has no transport of its own.
	http.DefaultTransport = sts{asked}
	identity, err := token.NewVerifier(asked.ClusterID, asked.Partition, asked.Region).Verify(asked.Token)
	if err != nil {
		return answer{Problem: err.Error()}
	}
	return answer{Accepted: true, ARN: identity.ARN}
}

// sts answers GetCallerIdentity for one identity.
type sts struct{ asked question }

// RoundTrip implements http.RoundTripper.
func (s sts) RoundTrip(request *http.Request) (*http.Response, error) {
	if problem := s.refusal(request); problem != "" {
		return respond(http.StatusForbidden, problem), nil
	}
	body := map[string]any{
		"GetCallerIdentityResponse": map[string]any{
			"GetCallerIdentityResult": map[string]any{
				"Account": "111122223333",
				"Arn":     roleARN,
				"UserId":  "AROATEST:sweep",
			},
		},
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return respond(http.StatusOK, string(text)), nil
}

// refusal says why the signature is not that of the identity, or nothing.
func (s sts) refusal(request *http.Request) string {
	query := request.URL.Query()
	date, err := time.Parse("20060102T150405Z", query.Get("X-Amz-Date"))
	if err != nil {
		return "no X-Amz-Date"
	}
	if time.Until(date) > 5*time.Minute {
		return "signed in the future"
	}
	expires, err := time.ParseDuration(query.Get("X-Amz-Expires") + "s")
	if err != nil {
		return "no X-Amz-Expires"
	}
	again, err := http.NewRequest(http.MethodGet, "https://"+request.URL.Host+"/", nil)
	if err != nil {
		return err.Error()
	}
	for name, values := range query {
		if !strings.HasPrefix(name, "X-Amz-") {
			again.URL.RawQuery += "&" + name + "=" + values[0]
		}
	}
	again.URL.RawQuery = strings.TrimPrefix(again.URL.RawQuery, "&")
	for name := range strings.SplitSeq(query.Get("X-Amz-SignedHeaders"), ";") {
		if name != "host" {
			again.Header.Set(name, request.Header.Get(name))
		}
	}
	known := s.asked.Identity
	signer := v4.NewSigner(credentials.NewStaticCredentials(known.AccessKeyID, known.SecretAccessKey, known.SessionToken))
	if _, err := signer.Presign(again, bytes.NewReader(nil), "sts", s.asked.Region, expires, date); err != nil {
		return err.Error()
	}
	want := again.URL.Query()
	for _, name := range []string{"X-Amz-Credential", "X-Amz-SignedHeaders", "X-Amz-Security-Token", "X-Amz-Signature"} {
		if subtle.ConstantTimeCompare([]byte(want.Get(name)), []byte(query.Get(name))) != 1 {
			return name + " is not that of the identity"
		}
	}
	return ""
}

func respond(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status,
		Status:     http.StatusText(status),
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(body)),
	}
}
