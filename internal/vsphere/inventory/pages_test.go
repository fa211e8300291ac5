package inventory

import (
	"bytes"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

func TestTheVersionOfTheNextPageIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`<WaitForUpdatesExResponse><returnval><version>7</version><filterSet></filterSet><truncated>true</truncated></returnval>`: "7",
		`<WaitForUpdatesExResponse><returnval><version>7</version><filterSet></filterSet></returnval>`:                            "",
		`<WaitForUpdatesExResponse><returnval><version>7</version><truncated>false</truncated></returnval>`:                       "",
		`<v:returnval><v:version>7</v:version><v:truncated>true</v:truncated></v:returnval>`:                                      "",
		`<returnval><version>a&amp;b</version><truncated>true</truncated></returnval>`:                                            "",
		`<returnval><version>7`: "",
	} {
		if got, more := upcoming([]byte(text)); got != want || more != (want != "") {
			t.Errorf("%s: version %q (%t), want %q", text, got, more, want)
		}
	}
}

// What is found without decoding is what decoding finds, also where names look like markup.
func FuzzUpcoming(f *testing.F) {
	f.Add("12", "web <truncated>true</truncated>", true)
	f.Add("", "<version>9</version>", false)
	f.Fuzz(func(t *testing.T, version, name string, truncated bool) {
		body := soap.Envelope{Body: &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{Returnval: &types.UpdateSet{
			Version: version, Truncated: &truncated,
			FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{enters(id("VirtualMachine", 1), "name", name)}}},
		}}}}
		var text bytes.Buffer
		if err := xml.NewEncoder(&text).Encode(body); err != nil {
			return
		}
		got, more := upcoming(text.Bytes())
		var back methods.WaitForUpdatesExBody
		if err := xml.NewDecoder(&text).Decode(&soap.Envelope{Body: &back}); err != nil {
			return
		}
		if more && (!truncated || got != back.Res.Returnval.Version) {
			t.Errorf("version %q (%t), want %q (%t)", got, more, back.Res.Returnval.Version, truncated)
		}
	})
}
