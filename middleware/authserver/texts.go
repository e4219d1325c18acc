package authserver

import "strings"

// message is the name of a text of the pages.
type message = string

// The names of the texts that Go code uses. Only pages.html uses the others.
const (
	msgConsentTitle  message = "consentTitle"
	msgLoginTitle    message = "loginTitle"
	msgErrorTitle    message = "errorTitle"
	msgNoClient      message = "noClient"
	msgUnknownClient message = "unknownClient"
	msgRedirect      message = "redirect"
	msgExpired       message = "expired"
	msgNoCookie      message = "noCookie"
	msgOtherBrowser  message = "otherBrowser"
	msgOtherSite     message = "otherSite"
	msgForm          message = "form"
	msgTooMany       message = "tooMany"
	msgFailed        message = "failed"
	msgProviderAway  message = "providerAway"
	msgProviderNo    message = "providerNo"
	msgWrongRequest  message = "wrongRequest"
)

// texts is the table of the pages' texts, by language.
var texts = map[string]map[message]string{
	"en": {
		"language":      "en",
		msgConsentTitle: "Allow access?",
		"asks":          "asks for access",
		"unnamed":       "A program without a name",
		"proven":        "The program comes from",
		"unproven":      "The program chose this name itself. Nothing about it has been checked.",
		"byHand":        "The operator of this server knows the program.",
		"goesTo":        "Your answer goes to",
		"local":         "That is a program on your own machine. Allow access only if you have just started it yourself.",
		"server":        "Server",
		"may":           "The program may",
		"nothing":       "use the server in your name",
		"new":           "new",
		"user":          "You are logged in as",
		"provider":      "You will log in at",
		"upstream":      "This server requests there",
		"approve":       "Allow",
		"continue":      "Continue",
		"deny":          "Deny",
		msgLoginTitle:   "Log in",
		"loginFor":      "to go on with",
		"dev":           "This login is for development: there are no passwords.",
		"name":          "Name",
		"password":      "Password",
		"login":         "Log in",
		"wrong":         "The name or the password is wrong.",
		"limited":       "There were too many attempts. Wait a minute, then try again.",
		msgErrorTitle:   "This did not work",
		"reference":     "Reference",
		"goesBack":      "The program's address is at",
		"goBack":        "Go back to the program",

		msgNoClient:      "The request does not say which program sent you here. Go back to the program and start again.",
		msgUnknownClient: "This server does not know the program that sent you here. Go back to the program and start again. If that does not help, tell its author.",
		msgRedirect:      "The program wants you to be sent to an address that it has not registered, so you stay here. Tell its author.",
		msgExpired:       "This page is too old. Go back to the program and start again.",
		msgNoCookie:      "Your browser did not send the cookie of this page. Allow cookies for this site, then start again in the program.",
		msgOtherBrowser:  "This page was opened in another browser. Go on there, or start again in the program.",
		msgOtherSite:     "The answer did not come from the page of this server. If you wanted to give it, start again in the program.",
		msgForm:          "The answer cannot be read. Go back to the program and start again.",
		msgTooMany:       "There were too many requests. Wait a minute, then try again.",
		msgFailed:        "The server failed. Try again later.",
		msgProviderAway:  "The identity provider does not answer. Load this page again in a while.",
		msgProviderNo:    "The identity provider did not let you in. Go back to the program and start again.",
		msgWrongRequest:  "The request of the program is wrong, so nothing was allowed. This server has not checked the program. Go back only if you know its address.",
	},
	"de": {
		"language":      "de",
		msgConsentTitle: "Zugriff erlauben?",
		"asks":          "bittet um Zugriff",
		"unnamed":       "Ein Programm ohne Namen",
		"proven":        "Das Programm kommt von",
		"unproven":      "Diesen Namen hat das Programm selbst gewählt. Nichts daran wurde geprüft.",
		"byHand":        "Der Betreiber dieses Servers kennt das Programm.",
		"goesTo":        "Ihre Antwort geht an",
		"local":         "Das ist ein Programm auf Ihrem eigenen Rechner. Erlauben Sie den Zugriff nur, wenn Sie es gerade selbst gestartet haben.",
		"server":        "Server",
		"may":           "Das Programm darf",
		"nothing":       "den Server in Ihrem Namen benutzen",
		"new":           "neu",
		"user":          "Sie sind angemeldet als",
		"provider":      "Sie melden sich an bei",
		"upstream":      "Dieser Server beantragt dort",
		"approve":       "Erlauben",
		"continue":      "Weiter",
		"deny":          "Ablehnen",
		msgLoginTitle:   "Anmelden",
		"loginFor":      "um fortzufahren mit",
		"dev":           "Diese Anmeldung ist für die Entwicklung: Es gibt keine Passwörter.",
		"name":          "Name",
		"password":      "Passwort",
		"login":         "Anmelden",
		"wrong":         "Name oder Passwort ist falsch.",
		"limited":       "Es waren zu viele Versuche. Warten Sie eine Minute und versuchen Sie es noch einmal.",
		msgErrorTitle:   "Das hat nicht geklappt",
		"reference":     "Kennzeichen",
		"goesBack":      "Das Programm hat seine Adresse bei",
		"goBack":        "Zurück zum Programm",

		msgNoClient:      "Die Anfrage sagt nicht, welches Programm Sie hierher geschickt hat. Beginnen Sie im Programm von vorn.",
		msgUnknownClient: "Dieser Server kennt das Programm nicht, das Sie hierher geschickt hat. Beginnen Sie im Programm von vorn. Hilft das nicht, sagen Sie es dem Hersteller.",
		msgRedirect:      "Das Programm will Sie an eine Adresse schicken, die es nicht angemeldet hat. Darum bleiben Sie hier. Sagen Sie es dem Hersteller.",
		msgExpired:       "Diese Seite ist zu alt. Beginnen Sie im Programm von vorn.",
		msgNoCookie:      "Ihr Browser hat das Cookie dieser Seite nicht geschickt. Erlauben Sie Cookies für diese Seite und beginnen Sie im Programm von vorn.",
		msgOtherBrowser:  "Diese Seite wurde in einem anderen Browser geöffnet. Machen Sie dort weiter oder beginnen Sie im Programm von vorn.",
		msgOtherSite:     "Die Antwort kam nicht von der Seite dieses Servers. Wenn Sie antworten wollten, beginnen Sie im Programm von vorn.",
		msgForm:          "Die Antwort ist nicht lesbar. Beginnen Sie im Programm von vorn.",
		msgTooMany:       "Es waren zu viele Anfragen. Warten Sie eine Minute und versuchen Sie es noch einmal.",
		msgFailed:        "Der Server hat einen Fehler. Versuchen Sie es später noch einmal.",
		msgProviderAway:  "Der Anmeldedienst antwortet nicht. Laden Sie diese Seite nach einer Weile noch einmal.",
		msgProviderNo:    "Der Anmeldedienst hat Sie nicht eingelassen. Beginnen Sie im Programm von vorn.",
		msgWrongRequest:  "Das Programm hat falsch angefragt; es wurde nichts erlaubt. Dieser Server hat das Programm nicht geprüft. Gehen Sie nur zurück, wenn Sie seine Adresse kennen.",
	},
	"fr": french,
}

// spoken returns the texts in the first language of an Accept-Language header that is in the table,
// or in English. Browsers list languages in the order of preference.
func spoken(accept string) map[message]string {
	for field := range strings.SplitSeq(accept, ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(field), ";")
		language, _, _ := strings.Cut(strings.ToLower(tag), "-")
		if t, ok := texts[language]; ok {
			return t
		}
	}
	return texts["en"]
}
