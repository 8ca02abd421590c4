package sale

import (
	"strconv"
	"strings"
)

// currencies are the active codes of ISO 4217 that money is sold in.
const currencies = " AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG "

// Exponent is the number of decimal digits of a currency's minor unit after
// ISO 4217: 2 for EUR, 0 for JPY, 3 for KWD. ok is false for unknown codes.
func Exponent(currency string) (digits int, ok bool) {
	if len(currency) != 3 || !strings.Contains(currencies, " "+currency+" ") {
		return 0, false
	}
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0, true
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3, true
	}
	return 2, true
}

// Decimal writes minor units as a decimal number with the currency's digits and
// no sign of it: 4250 is "42.50" in EUR, "4250" in JPY, "4.250" in KWD. An unknown
// currency is taken to have two digits.
func Decimal(minor int64, currency string) string {
	digits, ok := Exponent(currency)
	if !ok {
		digits = 2
	}
	minus, abs := "", uint64(minor)
	if minor < 0 {
		minus, abs = "-", -abs // two's complement: right for the smallest number too
	}
	s := strconv.FormatUint(abs, 10)
	if missing := digits + 1 - len(s); missing > 0 {
		s = strings.Repeat("0", missing) + s
	}
	if digits > 0 {
		s = s[:len(s)-digits] + "." + s[len(s)-digits:]
	}
	return minus + s
}
