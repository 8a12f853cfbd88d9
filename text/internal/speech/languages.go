// Names of languages.

package speech

import (
	"slices"
	"strings"
	"sync"
)

// LanguageCode returns the code of a language that transformers' Whisper knows by its English name,
// such as "en" for "English", and other names in lower case without the marks of a token: "<|en|>"
// becomes "en".
func LanguageCode(name string) string {
	name = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(name), "<|"), "|>")
	if code, ok := languages()[name]; ok {
		return code
	}
	return name
}

// WithoutSpaces reports whether a language is written without spaces between words: Chinese,
// Cantonese, Japanese, Thai, Lao and Burmese.
func WithoutSpaces(name string) bool {
	return slices.Contains([]string{"zh", "yue", "ja", "th", "lo", "my"}, LanguageCode(name))
}

// languages has the codes of languages by name, as tokenization_whisper.py of transformers 5.24.0
// has them.
var languages = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"afrikaans": "af", "albanian": "sq", "amharic": "am", "arabic": "ar", "armenian": "hy", "assamese": "as", "azerbaijani": "az",
		"bashkir": "ba", "basque": "eu", "belarusian": "be", "bengali": "bn", "bosnian": "bs", "breton": "br", "bulgarian": "bg", "burmese": "my",
		"cantonese": "yue", "castilian": "es", "catalan": "ca", "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl",
		"english": "en", "estonian": "et", "faroese": "fo", "finnish": "fi", "flemish": "nl", "french": "fr", "galician": "gl", "georgian": "ka",
		"german": "de", "greek": "el", "gujarati": "gu", "haitian": "ht", "haitian creole": "ht", "hausa": "ha", "hawaiian": "haw", "hebrew": "he",
		"hindi": "hi", "hungarian": "hu", "icelandic": "is", "indonesian": "id", "italian": "it", "japanese": "ja", "javanese": "jw",
		"kannada": "kn", "kazakh": "kk", "khmer": "km", "korean": "ko", "lao": "lo", "latin": "la", "latvian": "lv", "letzeburgesch": "lb",
		"lingala": "ln", "lithuanian": "lt", "luxembourgish": "lb", "macedonian": "mk", "malagasy": "mg", "malay": "ms", "malayalam": "ml",
		"maltese": "mt", "mandarin": "zh", "maori": "mi", "marathi": "mr", "moldavian": "ro", "moldovan": "ro", "mongolian": "mn", "myanmar": "my",
		"nepali": "ne", "norwegian": "no", "nynorsk": "nn", "occitan": "oc", "panjabi": "pa", "pashto": "ps", "persian": "fa", "polish": "pl",
		"portuguese": "pt", "punjabi": "pa", "pushto": "ps", "romanian": "ro", "russian": "ru", "sanskrit": "sa", "serbian": "sr", "shona": "sn",
		"sindhi": "sd", "sinhala": "si", "sinhalese": "si", "slovak": "sk", "slovenian": "sl", "somali": "so", "spanish": "es", "sundanese": "su",
		"swahili": "sw", "swedish": "sv", "tagalog": "tl", "tajik": "tg", "tamil": "ta", "tatar": "tt", "telugu": "te", "thai": "th",
		"tibetan": "bo", "turkish": "tr", "turkmen": "tk", "ukrainian": "uk", "urdu": "ur", "uzbek": "uz", "valencian": "ca", "vietnamese": "vi",
		"welsh": "cy", "yiddish": "yi", "yoruba": "yo",
	}
})
