package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	helmcmd "helm.sh/helm/v4/pkg/cmd"
	"k8s.io/apimachinery/pkg/util/yaml"
	jsonyaml "sigs.k8s.io/yaml"
)

// asked is one run of helm: its words, and what it reads from its standard input.
type asked struct {
	Words []string `json:"words"`
	Given string   `json:"given"`
}

// done is how a run ended: what it exits with, what it prints, its complaint, and the objects in what `template` prints:
// whoever asks can read JSON forty times as fast as YAML. There are none where that is no YAML.
type done struct {
	Code      int               `json:"code"`
	Printed   string            `json:"printed"`
	Complaint string            `json:"complaint"`
	Objects   []json.RawMessage `json:"objects,omitempty"`
}

// runs answers each run that it reads as a line of JSON with one of its own; an empty line first says that it is there.
//
// To start helm takes several times as long as to render a chart, so who renders many lets one helm stay. It ends when
// its standard input does, and when nobody has asked for that long.
func runs(input io.Reader, output io.Writer, idle time.Duration) int {
	// What helm might print past its own output would be read as an answer.
	os.Stdout = os.Stderr
	if _, err := fmt.Fprintln(output); err != nil {
		return 1
	}
	questions, ended := make(chan asked), make(chan error, 1)
	go func() {
		decoder := json.NewDecoder(input)
		for {
			var question asked
			if err := decoder.Decode(&question); err != nil {
				ended <- err
				return
			}
			questions <- question
		}
	}()
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for {
		select {
		case question := <-questions:
			if err := encoder.Encode(run(question)); err != nil {
				return 1
			}
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return 0
			}
			return 1
		case <-time.After(idle):
			return 0
		}
	}
}

// run does what a helm of its own would do with these words.
func run(question asked) done {
	read, write, err := os.Pipe()
	if err != nil {
		return done{Code: 1, Complaint: "Error: " + err.Error()}
	}
	defer read.Close()
	go func() {
		defer write.Close()
		// A run that fails early does not read all of it.
		_, _ = io.WriteString(write, question.Given)
	}()
	os.Stdin = read
	var printed, complaint bytes.Buffer
	command, err := helmcmd.NewRootCmd(&printed, question.Words, helmcmd.SetupLogging)
	if err == nil {
		command.SetArgs(question.Words)
		command.SetErr(&complaint)
		err = command.Execute()
	}
	result := done{Code: code(err), Printed: printed.String(), Complaint: complaint.String()}
	if err == nil && len(question.Words) > 0 && question.Words[0] == "template" {
		result.Objects = objects(result.Printed)
	}
	return result
}

// objects returns the documents of a manifest that hold something, or nothing where one of them cannot be read.
func objects(manifest string) []json.RawMessage {
	found := []json.RawMessage{}
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			return nil
		}
		body, err := jsonyaml.YAMLToJSON(document)
		if err != nil {
			return nil
		}
		if !bytes.Equal(body, []byte("null")) {
			found = append(found, body)
		}
	}
}
