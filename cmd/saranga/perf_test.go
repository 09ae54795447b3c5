package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestTimesText(t *testing.T) {
	h := newHistogram()
	for _, us := range []int64{143, 143, 143, 143, 143, 143, 143, 143, 671, 33000} {
		if err := h.RecordValue(us); err != nil {
			t.Fatal(err)
		}
	}
	// The widths of golden perf-client; values are the highest that count as the same, and 33000 has two digits.
	const want = "mean:   3488.10 us - 50.00%:    143.00 us - 90.00%:    671.00 us - 99.00%:  33023.00 us - 99.90%:  33023.00 us - 99.99%:  33023.00 us - max:     33023.00 us"
	got := timesText(h)
	if mean := regexp.MustCompile(`mean: +[\d.]+`); mean.ReplaceAllString(got, "") != mean.ReplaceAllString(want, "") || len(got) != len(want) {
		t.Errorf("\n%s, want\n%s", got, want)
	}
}

// blank replaces numbers, so that only the layout is left.
func blank(text string) string {
	text = regexp.MustCompile(` +[\d.]+ (us|msg/sec)`).ReplaceAllString(text, " N $1")
	return regexp.MustCompile(`(?m)(total \w+): +\d+`).ReplaceAllString(text, "$1: N")
}

func TestWindow(t *testing.T) {
	for _, size := range []int64{1, 2, 3, 4, 100} {
		w := newWindow(size)
		var wg sync.WaitGroup
		const senders, each = 3, 500
		places := make(chan struct{}, senders*each)
		for range senders {
			wg.Go(func() {
				for range each {
					if !w.tryAcquire() && !w.acquire() {
						t.Error("closed")
					}
					if n := w.pending.Load(); n > size {
						t.Errorf("%d of %d", n, size)
					}
					places <- struct{}{}
				}
			})
		}
		wg.Go(func() {
			for range senders * each {
				<-places
				w.release()
			}
		})
		wg.Wait()
		if n := w.pending.Load(); n != 0 {
			t.Errorf("%d places are lost", n)
		}
	}
	w := newWindow(1)
	w.acquire()
	done := make(chan bool)
	go func() { done <- w.acquire() }()
	w.close()
	if <-done {
		t.Error("a place of a full window that was closed")
	}
}

func TestQuota(t *testing.T) {
	q := newQuota(2)
	if !q.take() || q.done() || !q.take() || !q.done() || q.take() {
		t.Error("a quota of 2")
	}
	if q := newQuota(0); !q.take() || q.done() {
		t.Error("no bound")
	}
}

// keys are the keys of an object, with those of its objects, in their order.
func keys(t *testing.T, object json.RawMessage) (list []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(object)))
	depth, key := 0, true
	for {
		tok, err := d.Token()
		if err != nil {
			return list
		}
		switch x := tok.(type) {
		case json.Delim:
			if x == '{' {
				depth, key = depth+1, true
			} else {
				depth--
				key = true
			}
			continue
		case string:
			if key {
				list = append(list, strings.Repeat(".", depth-1)+x)
				key = false
				continue
			}
		}
		key = true
	}
}

func readReport(t *testing.T, path string) (samples []json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, path)), &samples); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return samples
}

func TestPerfClient(t *testing.T) {
	i := createInstance(t)
	i.serve(t)
	dir := t.TempDir()
	report, log := filepath.Join(dir, "report.json"), filepath.Join(dir, "log.hdr")
	r := cli(t, "", append([]string{"perf", "client", "--rate", "50", "--duration", "3", "--warmup", "1", "--show-latency", "--json", report, "--hdr", log, "queue://PERF"}, i.connection()...)...)
	if r.code != 0 || r.err != "" {
		t.Fatalf("%+v", r)
	}

	// The layout of Artemis' command: interop's recording has --show-latency, golden perf-client the warm-up.
	const times = "mean: N us - 50.00%: N us - 90.00%: N us - 99.00%: N us - 99.90%: N us - 99.99%: N us - max: N us"
	interval := func(warmup string) string {
		return "\n--- warmup " + warmup + " \n--- sent: N msg/sec \n--- blocked: N msg/sec \n--- completed: N msg/sec \n--- received: N msg/sec \n--- send delay time: " + times + " \n--- send ack time:   " + times + " \n--- transfer time:   " + times + "\n"
	}
	const summary = "\n--- SUMMARY\n--- result:              success\n--- total sent: N\n--- total blocked: N\n--- total completed: N\n--- total received: N \n--- aggregated delay send time: " + times + " \n--- aggregated send time:       " + times + " \n--- aggregated transfer time:   " + times + "\n"
	got := blank(r.out)
	if head := "Connection brokerURL = " + i.url() + "\n" + interval("true ") + interval("false"); !strings.HasPrefix(got, head) || !strings.HasSuffix(got, summary) {
		t.Errorf("output\n%s", r.out)
	}

	golden := readReport(t, "testdata/golden/perf-client-report.json")
	samples := readReport(t, report)
	for _, at := range []struct{ want, got json.RawMessage }{{golden[0], samples[0]}, {golden[len(golden)-1], samples[len(samples)-1]}} {
		if g, w := keys(t, at.got), keys(t, at.want); !slices.Equal(g, w) {
			t.Errorf("keys %v\nwant %v", g, w)
		}
	}
	var s struct {
		Result                                   string
		TotalSent, TotalCompleted, TotalReceived int64
		TotalSendTime, TotalTransferTime         struct{ Count, Max int64 }
	}
	if err := json.Unmarshal(samples[len(samples)-1], &s); err != nil {
		t.Fatal(err)
	}
	// 50 a second for three seconds; times of the first second don't count.
	if s.Result != "success" || s.TotalSent < 100 || s.TotalSent > 151 || s.TotalCompleted != s.TotalSent || s.TotalReceived != s.TotalSent || s.TotalSendTime.Count >= s.TotalSent || s.TotalSendTime.Count == 0 {
		t.Errorf("%+v", s)
	}
	testHDR(t, log)
}

// testHDR reads the log as HdrHistogram's tools do, and compares its head with that of Artemis.
func testHDR(t *testing.T, path string) {
	golden := strings.SplitN(read(t, "testdata/golden/perf-client.hdr.log"), "\n", 3)
	got := strings.SplitN(read(t, path), "\n", 3)
	if !slices.Equal(got[:2], golden[:2]) {
		t.Errorf("head %q, want %q", got[:2], golden[:2])
	}
	tag := regexp.MustCompile(`Tag=([^,]*),`)
	names := func(text string) []string {
		var list []string
		for _, m := range tag.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(list, m[1]) {
				list = append(list, m[1])
			}
		}
		return list
	}
	if g, w := names(got[2]), names(golden[2]); !slices.Equal(g, w) {
		t.Errorf("tags %q, want %q", g, w)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := int64(0)
	for s := bufio.NewScanner(f); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "Tag=send,") {
			continue
		}
		fields := strings.Split(s.Text(), ",")
		h, err := hdrhistogram.Decode([]byte(fields[4]))
		if err != nil {
			t.Fatal(err)
		}
		count += h.TotalCount()
	}
	if count == 0 {
		t.Error("no times in the log")
	}
}

func TestPerfEnds(t *testing.T) {
	i := createInstance(t)
	i.serve(t)
	for _, c := range []struct {
		args string
		want string // in the summary
	}{
		{"client --message-count 500 --max-pending 50 --persistent queue://A", "--- total received:          500"},
		{"client --message-count 500 --window 20 --num-destinations 3 --producers 2 --consumers 2 queue://B", "--- total received:          500"},
		{"client --message-count 100 --commit-interval 7 --tx queue://C", "--- total received:          100"},
		{"client --message-count 50 --message-size 200000 --max-pending 4 queue://L", "--- total received:           50"},
		{"client --message-count 50 --consumers 2 topic://T", "--- total received:          100"},
		{"client --message-count 50 --consumers 3 --shared 1 topic://S", "--- total received:           50"},
		{"client --message-count 50 --ttl 60000 --enable-msg-id --enable-timestamp --group g --shared-connections --consumer-connections 1 queue://O", "--- total received:           50"},
		{"producer --message-count 70 queue://P", "--- total completed:          70"},
		{"consumer --message-count 70 queue://P", "--- total received:           70"},
	} {
		t.Run(c.args, func(t *testing.T) {
			began := time.Now()
			r := cli(t, "", append(append([]string{"perf"}, strings.Fields(c.args)...), i.connection()...)...)
			if r.code != 0 || !strings.Contains(r.out, "--- result:              success") || !strings.Contains(r.out, c.want) {
				t.Errorf("after %v: %+v", time.Since(began), r)
			}
		})
	}
	if r := cli(t, "", append([]string{"queue", "stat", "--field", "MESSAGE_COUNT", "--operation", "GREATER_THAN", "--value", "0"}, i.connection()...)...); strings.Count(r.out, "\n") != 3 {
		t.Errorf("messages are left:\n%s", r.out)
	}
}

// A run whose broker goes away fails.
func TestPerfFails(t *testing.T) {
	i := createInstance(t)
	stop := i.serve(t)
	done := make(chan result)
	go func() {
		done <- cli(t, "", append([]string{"perf", "client", "--rate", "1000", "queue://A"}, i.connection()...)...)
	}()
	for deadline := time.Now().Add(10 * time.Second); ; {
		r := cli(t, "", append([]string{"queue", "stat", "--field", "MESSAGES_ADDED", "--operation", "GREATER_THAN", "--value", "0"}, i.connection()...)...)
		if strings.Contains(r.out, "\n|A ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", r)
		}
	}
	stop()
	if r := <-done; r.code != 1 || !strings.Contains(r.out, "--- result:                 fail") {
		t.Errorf("%+v", r)
	}
}
