package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	helmcmd "helm.sh/helm/v4/pkg/cmd"
)

// asked is one run of helm: its words, and what it reads from its standard input.
type asked struct {
	Words []string `json:"words"`
	Given string   `json:"given"`
}

// done is how a run ended: what it exits with, what it prints, and its complaint.
type done struct {
	Code      int    `json:"code"`
	Printed   string `json:"printed"`
	Complaint string `json:"complaint"`
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
	return done{Code: code(err), Printed: printed.String(), Complaint: complaint.String()}
}
