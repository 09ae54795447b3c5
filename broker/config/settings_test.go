package config

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

func TestSettings(t *testing.T) {
	c := Default()
	w := DefaultWildcards()
	datadriven.RunTest(t, "testdata/settings.txt", func(t *testing.T, d *datadriven.TestData) string {
		lines := strings.Split(strings.TrimSpace(d.Input), "\n")
		var out strings.Builder
		switch d.Cmd {
		case "wildcards":
			d.ScanArgs(t, "delimiter", &w.Delimiter)
			d.ScanArgs(t, "any", &w.AnyWords)
			d.ScanArgs(t, "single", &w.SingleWord)
		case "markers":
			c.LiteralMatchMarkers = ""
			if len(d.CmdArgs) > 0 {
				c.LiteralMatchMarkers = "()"
			}
		case "settings":
			var xml strings.Builder
			for _, line := range lines {
				match, values, _ := strings.Cut(line, " ")
				fmt.Fprintf(&xml, `<address-setting match="%s">`, match)
				for _, v := range strings.Fields(values) {
					name, value, _ := strings.Cut(v, "=")
					fmt.Fprintf(&xml, "<%s>%s</%s>", name, value, name)
				}
				xml.WriteString("</address-setting>")
			}
			c.AddressSettings = parseCore(t, "<address-settings>"+xml.String()+"</address-settings>").AddressSettings
		case "resolve":
			for _, address := range lines {
				s, err := c.AddressSettingsFor(address)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "%s: mda %d, rd %d, mrd %d, history %d\n", address, s.MaxDeliveryAttempts, s.RedeliveryDelay.Milliseconds(), s.MaxRedeliveryDelay.Milliseconds(), s.MessageCounterHistoryDayLimit)
			}
		case "matches":
			p, err := w.Compile(lines[0], "")
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines[1:] {
				address, want, _ := strings.Cut(line, " ")
				if p.Match(address) != (want == "yes") {
					fmt.Fprintf(&out, "%s is wrong\n", line)
				}
			}
			if out.Len() == 0 {
				out.WriteString("ok\n")
			}
		case "order":
			for range 20 {
				rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
				r := NewRepository[string](w, "")
				for _, match := range lines {
					if err := r.Set(match, match); err != nil {
						t.Fatal(err)
					}
				}
				got := strings.Join(r.Find("a.b.c"), "\n") + "\n"
				if out.Len() > 0 && got != out.String() {
					t.Fatalf("the order depends on the order of Set: %s and %s", out.String(), got)
				}
				out.Reset()
				out.WriteString(got)
			}
		default:
			t.Fatalf("unknown command %s", d.Cmd)
		}
		return out.String()
	})
}

func TestRepository(t *testing.T) {
	r := NewRepository[int](DefaultWildcards(), "")
	for i, match := range []string{"a.b", "a.*", "#", "a.b"} {
		if err := r.Set(match, i); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.Find("a.b"); !reflect.DeepEqual(got, []int{3, 1, 2}) {
		t.Errorf("Find = %v", got)
	}
	if !r.Remove("a.*") || r.Remove("a.*") || !r.Remove("a.b") {
		t.Error("Remove")
	}
	if got := r.Find("a.b"); !reflect.DeepEqual(got, []int{2}) {
		t.Errorf("Find = %v", got)
	}
	if v, ok := r.Get("#"); !ok || v != 2 {
		t.Error("Get")
	}
	if _, ok := r.Get("a.b"); ok {
		t.Error("Get finds what was removed")
	}
}

func TestAddressSettingFieldsResolve(t *testing.T) {
	set, resolved := reflect.TypeFor[AddressSetting](), reflect.TypeFor[AddressSettings]()
	pointers := 0
	for i := range set.NumField() {
		f := set.Field(i)
		if f.Type.Kind() != reflect.Pointer {
			continue
		}
		pointers++
		if g, ok := resolved.FieldByName(f.Name); !ok || g.Type != f.Type.Elem() {
			t.Errorf("AddressSettings has no %s of type %v", f.Name, f.Type.Elem())
		}
	}
	if pointers != resolved.NumField() {
		t.Errorf("%d optional fields for %d resolved ones", pointers, resolved.NumField())
	}
	s := (&AddressSetting{}).Resolve()
	if d := DefaultAddressSettings(); s != d {
		t.Errorf("nothing set resolves to %+v, want %+v", s, d)
	}
	ten := 10
	delay := 5 * time.Second
	s = (&AddressSetting{MaxReadPageMessages: &ten, RedeliveryDelay: &delay}).Resolve()
	if s.PrefetchPageMessages != 10 || s.MaxRedeliveryDelay != 50*time.Second {
		t.Errorf("derived defaults: %+v", s)
	}
}

func TestAddressSettingJSON(t *testing.T) {
	// The ADDRESS_SETTING_JSON record of spec/journal.md §4.4, and management.md §4.5.
	const record = `{"addressFullMessagePolicy":"BLOCK","maxSizeBytes":12345,"pageSizeBytes":1000,"deadLetterAddress":"DLQ","redeliveryDelay":7}`
	var s AddressSetting
	if err := json.Unmarshal([]byte(record), &s); err != nil {
		t.Fatal(err)
	}
	if *s.AddressFullPolicy != FullBlock || *s.MaxSizeBytes != 12345 || *s.PageSizeBytes != 1000 || *s.DeadLetterAddress != "DLQ" || *s.RedeliveryDelay != 7*time.Millisecond || s.ExpiryAddress != nil {
		t.Errorf("%+v", s)
	}
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if json.Unmarshal([]byte(record), &want) != nil || json.Unmarshal(out, &got) != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s, want %s", out, record)
	}
	if err := json.Unmarshal([]byte(`{"noSuchKey":1,"slowConsumerCheckPeriod":"9","maxSizeBytes":"1K"}`), &s); err != nil || *s.SlowConsumerCheckPeriod != 9*time.Second || *s.MaxSizeBytes != 1024 {
		t.Errorf("%v %+v", err, s)
	}
	for _, bad := range []string{`[]`, `{"redeliveryDelay":"x"}`, `{"addressFullMessagePolicy":"FOO"}`, `{`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
