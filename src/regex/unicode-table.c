/* Written by src/regex/unicode-table.go. Unicode 15.0.0. */

/* clang-format off */

#include "regex/class.h"

const RegexUnicodeTable regex_unicode_tables[] = {
    {"Cc", "aFbRdGb"}, {"Cf", "RgaKAcfwaKhaXbaUobCdaJTfaQAdeAbeXbebjJHGdaPjcZIgapaKKnpUQZbdXWhhMZKT"
    "baEbRd"}, {"Co", "OVGdDMjOXHAcNYSdcNYSd"}, {"Cs", "UUDdTAd"}, {"Ll", "TdzGcaPbxbhbabababababab"
    "abababababababababababababababababababababbbabababababababbbababababababababababababababababab"
    "abababababacababccabacadbeacadccacababacabbbacadabacbccgacacababababababababbbabababababababab"
    "bcabadabababababababababababababababababababababababababababababgcacbbaeababababQcbAbLhabadadc"
    "saBbIbbbdcbabababababababababababebacacbZbVbbababababababababababababababababajabababababababa"
    "bababababababababababababababababababacababababababbbababababababababababababababababababababa"
    "bababababababababababababababababababababababababababaWbObBHeQbccGDbfUFdiPeRbLcmbHbYdababababa"
    "bababababababababababababababababababababababababababababababababababababababababababababababa"
    "bababababababababababababababababababababababibabababababababababababababababababababababababa"
    "bababababababababababababababababababababababababiifkhihifkhihinchihihiebbgadcbbidcbihkcbbOkad"
    "bdaBbaeaeacbideaBcaBBeVbbadbbababaeabbbffababababababababababababababababababababababababababa"
    "bababababababababababababababababababababababbhabaeamLbbafaDWTbabababababababababababababababa"
    "bababababababatabababababababababababababaFfababababababcbabababababababababababababababababab"
    "abababababababababababababhbabacababababaeabacabcbabababababababababafafabababababababaeabagab"
    "abababaCbadaPFbQbfihBdIAEbgmeZObzHVbNbGfJbZfkbobgbbBRcYbFMeFbWJGbFbKMMbzAbgbrAbzAbdbabgbkAbzAb"
    "zAbzAbzAbzAbzAbzAbzAbBbCbybfAbybfAbybfAbybfAbybfbaYScjbtgfDUdHb"}, {"Lm", "MAbreloehabaDfafaKs"
    "aWiaIgbJkbeaFbajadaEgaLgaOVbaXeaTvaMPcaDeaNxaWrfSgKcnaIbKbNAbanaqmXMebHjaJhaBsaRbefaTdbPdcUBQb"
    "aCWbfKkaKeaCbbReiCdaxaBecdbBsawaHfaEeavbZddjaIVFbaTbbOZcfbPbbiXRLbdLQbmMcbbaQGydbgbbNGsJcThgFK"
    "baBRba"}, {"Lo", "OgapaWjaedAiaVFbAbedTbFbbjJbbbUdbaybkccaqabDbDbKdlayGbvvQbyhkfxbfrObHcBcdasa"
    "hjqoehcbcvbgbadddaqanbbcobkaifebcvbgbbbbbbFbdbatcqibcbvbgbbbedasapbxalhcbcvbgbbbedaEbbbcparabf"
    "dcbddbbabbdbdcdlwaAchbcbwbpdaAbccacbEbaehbcbwbjbedaFbbbbpbribcbObcaqafcicyffrdxbibacgGcVbbbmfH"
    "cbbabebxbabjbbjacexdGbaLchbJbBbeLeQbuaqfeddadbhcemmaJeQmbdcgbabdcObbdcGbbdcgbabdcobEcbdcOcLbpJ"
    "eVxcqbzfWcghhrnsorombcpZbObaPcIbbAchecHbbafRckEbXbDbcelRbezCcwjAcUgUbrhCcDbnbkRbAbJbPbckDbJedb"
    "fbbdaQPbdVNeDcywjgbgbgbgbgbgbgbgFvaBcaeHdiabLdeafQbbPdrFbWbpStNTjMcECFbbYRbPcNbiHkepkbOcaXbRcN"
    "gaZdadgbcbdbwDbZboXbKcfdabblBbkwzCbhUbTbecikebObxcbhupbfdadXbbadbcecabaybdkhaofcfcfjgbgPfIbDbR"
    "NqmweWbCNmBocBePcabjbmbebabbbbbDeHbYnsLccBcOblMeebEfBejbSbcEbdfcfcfccJblbzbsbbbocnIbSeZoCbdWbV"
    "bFbntbhgLbkDbcJbehYeZcUdNbiZbAgYljvkhWffcabRbbbdacwkwjEbNcsbbkvkzScDcgbMcapdbcbCbQbCbdCbJbhbBb"
    "BbBckvksnrGeUcBhJbKnPbgbAdCbkaivQbrUbuBbwmAcFcbcanSbGbyAbJbDbacaiIbdamVbodvabaJbrbytbLcgbabdbo"
    "bjhUbMbhcbcvbgbbbedasameCgAcsducEbVbubbaChUbPbdKbVbuaHcQbnaTcAbLbgDhRbDihcachbbbxpabaQdhcMbqab"
    "aCbakNbhavalTbtasUcDkibKbraXbDbIegbbbLbvazfbbbFboaPmspabmbHbUeaBdLJbWiNhKXdSdpFPbrfVYfKwBUmWvh"
    "EbrAdrDbsVbZbufsWHbWcfaTgZBjiPVbQbiHGnElpaDbccaodiFpUKdCefmdihjCBnaHtSbHbaJmDbsRbQsAbDDbgbdbbb"
    "obOhNZbdbAbbbbacabjbdbabagaeabababcbbbacabababababbbacdbgbdbdbabjbqfcbebqAOgBFLcGbTDggNicPNioK"
    "BlJPeVuYFcYHhfFFg"}, {"Lt", "LracacaMbaHFlhihihmapaVba"}, {"Lu", "NczXdwbgHbababababababababab"
    "ababababababababababababababababababacabababababababacabababababababababababababababababababab"
    "abababbbabadbbabbbccdbbbcdbbbbababbbacabbbcbabbdahacacacabababababababacababababababababacacab"
    "cbababababababababababababababababababababababababababababahbbbcabdbabababaDlabadaiagabcbabbbq"
    "biJbaccdabababababababababababafacabbcYbWbababababababababababababababababajababababababababab"
    "ababababababababababababababababababbbabababababacabababababababababababababababababababababab"
    "abababababababababababababababababababababababababacLbDHeLbbafaUBbHdSGdQbccImababababababababa"
    "bababababababababababababababababababababababababababababababababababababababababababababababa"
    "bababababababababababababababababababajabababababababababababababababababababababababababababa"
    "bababababababababababababababababababababajhifkhihiflabababaihUcdmdmdmeldCkaeadccccadegabababd"
    "cdkbfaJcaGZdVbWbabccabababdbacaicbabababababababababababababababababababababababababababababab"
    "ababababababababababababababababababaiabaeaJYTbababababababababababababababababababababababata"
    "bababababababababababababaFfababababababadabababababababababababababababababababababababababab"
    "ababababakababbbabababaeabacabadababababababababababebebabababababababdbagafabaCbaHAHbzZUbNbGf"
    "JbAgkbobgbbCQcYbLNeFbWJGbFbQMMbzAbzAbzAbabbcacbcdbhAbzAbbbdchbgBbbbdbebadgBbzAbzAbzAbzAbzAbzEb"
    "yHbyHbyHbyHbyHbaLNgHb"}, {"Mc", "TKdaDcaccidbbYbbGccgbcbkaRbaGccOcaGcciabbBcbGcabagbcbkaYdbbbd"
    "cbckaPbcJcdJcbGcabecbbbjbCbaobGccfcbckaQbbXccghsbSmbLcaPgbeagacbzbkccgvbcfcakcSLcaEbaZeahhbbIn"
    "dccebbfQibGcabajabbifPfaWbafabebbJcaEbaebcaIcaccbadbWbhibPgavaEHhbBLTbbcaKdbYbpMfbVbaWbbebccGe"
    "bcbyaTbabaFeacbfaDjbbbbbbaJXLbabaXeaTbcebLeaybHcaWbcjbnaPdcdbbaOgcFbbGcbbdcbccjakbBicibdaCecga"
    "bdcaDjcgdcaJecibbaFeabbgaBebeaBkcjaNjfbbeacabaMfcideaGdaDbbKcaRpaoaCeahacaFieebbaMnbmaWbbibbaH"
    "IEbCcAebNXKbbgf"}, {"Me", "QSbbQKiaGIcdbcXOYbc"}, {"Mn", "ODbHePkeFkSbbabbbbbaUckWbuqaXdgcfcbb"
    "dJbaEbAbNdkGcijaydbibcbeRbcIchQbxbFbDcabaeheadgkbDbaGcaediaubAbacbFcaebebccdaEbbdalbFcaeebbeau"
    "bwfbaGcacabdiahblbEbaJcamaYbadaDcabcfcbdhblbDbaGcacagafbubCbbFcbediaubDbaUcahcbaMdacgmhUdacilg"
    "VcbBbababaDcnbebbfkbJbjaYddbfbbcbzbecqdnacbgapaBBbcKKbcDbbEbbEbbMcbbgiackjaTbcbaNebIbaOecebjag"
    "cLibcaGcabgbabachgjcaWbnbpXbdWbabebafaObimbGbdcbbcEcabbdabcGchcbWfcbmbgeagadbQhLcSBbmeadlCOecL"
    "faSdFbIvdDebEQSbaejGbbCdbMkadaeazbfaVfbAbrnaMbhzkUbcWbacdcbNbaPcfcbcbmaiaVbaZbabccbfbbaQbbiaEj"
    "acaeaSZDbaJCbpqpLLbaSiaTfeGMccbbfdObceaJgbBwdXobCdcSckXbdTeaCcoPbacbkcXbdcbhaJccKbebhKcambAcik"
    "dcaRdccabbgacaBgadhvbFcbdaLbgdeNhhccbaxaGdfbaebbbEjdgbbbBbbHdhcabbCeabacfbaXdccdbeZjibbWjbbaea"
    "OfdcbeaGbjObfcdiajfccUbmbbQpgbfbaEdvcgbbbbSefdabbbgbaUcbdabaJnblbAcefabaRYhagoQRueHcgIObaLcdDd"
    "aKBDbbZYgTbcwYucrhcgEbdSfcDYcCceXbiaoaweboIAcgbqcgbbbeWdaEggLoaJcdOtdEMbgFegVICTbFj"},
    {"Nd", "WbjOIcjEfjQhjWpjOejOejOejOejOejOejOejOejOejSdjOejScjSkjScjQTcjMbjOljYejKgjgjAhjIdjEfjgj"
    "OEAcjCAbjMbjQhjwjIdjQpjCMFbjKCcjYFdjGFbjYejIcjOfjSkjEnjOejKojYdjYdjGqjYdjEDbjMjjScjGqjSKCbjIdj"
    "EfjWBPbXbCNdjGqjItjSQbjABhj"}, {"Nl", "URicTYdIbcdSMfaziocLYSbjGFIbAcSraiaEfeSEmGe"},
    {"No", "WgbfaccRMdfMofQecDfgJigriRqjLPbtVRbjMsaVMcadfgjQhpPbaYBbHcAdvGyDbHBcaCTbdIfjEbhboGbjNbo"
    "IMSbfNQHbSbNcdrbDnAbKbdGZbhzgNbiXcewfEgbcpcTbMciAcbEbcXceAehyhPbgSmfOnEbCgjQbdIegEftPotXZbbOqi"
    "NHbsTGbuQPCbgSEbwFYLbtmtEeyUBiiTJbGcbcbdYcSbboALbm"}, {"Pc", "RdaVBmbtaOAGdbycFja"}, {"Pd", "T"
    "baUAcaZbaJKfaPNbaDBdfXHfacaFbbeaCbaErataHeaAWZcbLbakaNgaVXfa"}, {"Pe", "PbaZbaFbaDPfabaOUcaDRd"
    "aDcapaKyabaEbaUPbababababababaCdaGbababababaOpababababababababababaMcabaHbaVObabababaSbabababa"
    "MqababababadabababacbQRZcaJiaDbabababababababadarababaOgaZbaFbacaca"}, {"Pf", "FhaVWladaCbaSFf"
    "abaeacapada"}, {"Pi", "PgaKXlacbcazaSFfabaeacapada"}, {"Po", "HbcbccababbkbdbBbaQcafaobhaABbai"
    "aYrfPbaCcacacaSbbubbbnabcWcdYdaRbnZicCcoFbaBkbkaKfaQeaReaApamaDoaMdakbMgobaIeaWceebHefPgaOxiTD"
    "baUecTcbBgcbcLbfbdBmbIibYegbfQggCbbVedHceKcbMchlaCGbbihiicdccdkbabjCUedbbIeaNfbeccacibbbacbkeb"
    "jcdbabmccMqcFcaHhaGYRbbJkcVdakaLefQodIdbObcbaXbbVbaTdmqbUedWebqbPjaUCFbgcawaubcddcbdhcgabbTfcb"
    "ccababbkbdbBbaKbacbUpcSzaWbaYpaPCbaRhaFbaMkiMbaIegOcgLddQKbeSbdHhgFebbdWedWbbBddeanabcKdfDeaBq"
    "ekbbaAeaQjwBecCbmYcaAfcSjaEkcZfaOdhFdcbePdjZleQbbVybWcmTgaSRbeCJebVDwbDfaNceiaSGbdPmaOBDbaLIle"
    "YPfb"}, {"Ps", "ObaYbaFbaEPfabaOUcaMPdadaMbaDcapaKyabaEbaUPbababababababaCdaGbababababaOpababa"
    "babababababababaMcabaHbaVObabababazasabababaMqababababadabababacaTRZcaHiaDbabababababababadara"
    "babaOgaYbaFbadaca"}, {"Sc", "KbaVedJWbaTeaEtbEtbhaLjaDkaJwaPQdaIIdGbVHZbaLMGbaEeaYfaLibdbSCmdE"
    "XVcaKRda"}, {"Sk", "QdabaTcagaeadaBudmnfgbabqNeaobIXbaMUiabclcncncnbOHgbRVSbwjbZdbOLbaobKKEbqH"
    "IbabaGgaJLOde"}, {"Sm", "RbaqcJcabaTbaeaLbaFbaMDbaHucHYjanaNbcncJfaNbegaQcefbeacacahaFbbcabaFb"
    "HkGbbMdaEbyObfBsajaCchHeaYmecEbkpWjAfwKceFbcXjWbucfQSAdaSFbabcIgaqcJcabaBfagdGJDdazaFbazaFbaza"
    "FbazaFbazaEUib"}, {"So", "KgacaeabaPLbaGkbXebYhakatbNjaVtaJoaAffbaCfaZhaPbaBpcpabccfuababaDfhb"
    "fbbfdPhbYCbjVBbaUBbaBgHbPnjjiHCcbbdbbkabbgfbababaealboabbbaGcbjecdbbbbbgbEbcbbabEbIkhetcgcCdbD"
    "bzNbgQczkDdZcwAhbibBciGebNjSbRbMcVjStVbvbgMbcFbbAeVifTnbUbzbKdmFiAblianbmavbgbYmbejGbJbCbEblDb"
    "iapFbkMbpHmOTjLcIUGbCcHHbdkbbaBwcAJFbpXeaTbcQsadaebnbBmiFcqccbmdaVbSbULcbTwaSSeaNGdheqINCbdfaW"
    "UEbaDChLeIcLjkMbcHcfcwbhDbeIcvNcdaEhIdXTbRtDcdYbhbnbbUOcaWHeaZeaTBbRbeVdmocobobKbxEgEcCbnRbeih"
    "bofYfQjfZBbeqdmdOeeQdgleapleDcijgNbiDbcbAdBnmncmdihTbbgineihihQfbCc"}, {"Zl", "QEma"},
    {"Zp", "REma"}, {"Zs", "GbaXeaJHiaNPdkKbaVbaWXfa"}, {"Adlam", "UEDhXcejeb"}, {"Ahom", "CRBeAbco"
    "ew"}, {"Anatolianhieroglyphs", "ESSeKw"}, {"Arabic", "CHcebfbnbcbFbbjlzbDebHbCdVbGjEbbbgVcbCbW"
    "TNdKeqYncBdcBchaGbpIeebEfNVfEbWecSLGddbAbbbbacabjbdbabagaeabababcbbbacabababababbbacdbgbdbdbab"
    "jbqfcbebqAcb"}, {"Armenian", "DZbLbcXbccJZOde"}, {"Avestan", "YCXdBcdg"}, {"Balinese", "WFkYcd"
    "Ub"}, {"Bamum", "QCLcJdQCVcWv"}, {"Bassavah", "IKHfDbcf"}, {"Batak", "GNkZbid"},
    {"Bengali", "OPddbhcbcvbgbaddcicbcdiaebbecy"}, {"Bhaiksuki", "IODeibSbbnkCb"}, {"Bopomofo", "SC"
    "bbXLrQbIeFb"}, {"Brahmi", "EAZdZceJbja"}, {"Braille", "WDpVj"}, {"Buginese", "AWjBbcb"},
    {"Buhid", "YUit"}, {"Canadianaboriginal", "YOhPyOvRcQPTdp"}, {"Carian", "MYTdWb"},
    {"Caucasianalbanian", "SXUdZbla"}, {"Chakma", "AKZdAcbr"}, {"Cham", "WJMcCcjncjcd"},
    {"Cherokee", "GLhHdcfEJFcBd"}, {"Chorasmian", "CXYdBb"}, {"Common", "aMcAbfAbUbbobexaFbaHrMbfec"
    "tMeajagabaNyagaoadaGbaAgaWtaZebTVbaPpdElaLGccTcbVhbbaHVbanahdbfbccaTDblcIdbkdkborGbLcLbbccfbAb"
    "bqPbceMzzkvRJbWjDycFbbAeStPdMpleebabyphedNdbdaMdbRfpGbJbIcLcFbCdVbaKdLgOTjLcISHbHbYdcJgjKjaEga"
    "FpaobQZEbbAijwIbbsbdRfabFbAbfAbkkaTbbMcgbgkeYjceSbdiCdmZbSbUiAbWHScdWBhLeIcLjkMbcJcdqibhDbeIcF"
    "itmtmIdjyFfGdbScbbcacbcdblbabgbMcbdchbgbBbbdbebadgbBncFlcXbHThPcYcIcEBbRbeVdmocobobKbkRgEczbbn"
    "RbeihbofYfVLbeqdmdOeeQdgleapleDcijgNbiDbcbAdBnmncmdihTbbgineihihQfbCcLbjBXUSbaEbRd"},
    {"Coptic", "GMbnKJpLefg"}, {"Cuneiform", "SBFeLJbYdGebelNh"}, {"Cypriot", "KZVdfcabRbbbdaca"},
    {"Cyprominoan", "YYKeUd"}, {"Cyrillic", "KNbCfcMgOViiGgaYcaNFgFbAOTbRdCEHbbGPHdJcHba"},
    {"Deseret", "AMUdBd"}, {"Devanagari", "QKdCdeoczGJIcFbMERbj"}, {"Divesakuru", "UKCegcachbbbDbbb"
    "cljj"}, {"Dogra", "YACeHc"}, {"Duployan", "SDMgCefmdihjcd"}, {"Egyptianhieroglyphs", "GDLeRQb"
    ""}, {"Elbasan", "WVUdNb"}, {"Elymaic", "YYYdw"}, {"Ethiopic", "GVgUcbdcgbabdcObbdcGbbdcgbabdco"
    "bEcbdcOccFbdzAVjwjgbgbgbgbgbgbgbgCKVbfcfcfjgbgFYPegbdbbbo"}, {"Georgian", "SHgLbbafacQbbdWJeQb"
    "ccAEgLbbafa"}, {"Glagolitic", "GRqRdGZIggbqcgbbbe"}, {"Gothic", "AEUdAb"}, {"Grantha", "SDAedb"
    "hcbcvbgbbbecicbcccagafgcgde"}, {"Greek", "WHbdbccdbaeababcbabtbKcopQNjeYbeeeGdaImvcfcLbcfchbab"
    "ababEbcAcbobncfbsccbiJlaEJAcaINGbAdraRXAdRc"}, {"Gujarati", "LZdcbibcbvbgbbbecjbcbccapdclhg"},
    {"Gunjalagondi", "WBEefbbbKbbbbfhj"}, {"Gurmukhi", "NUdcbfebcvbgbbbbbbcabeebccdahdbahq"},
    {"Han", "WPrzbKdmFiVbabaziodCLbNTjMcJBFbISHbBocBeIISbbmbKOCcBFLcGbTDggNicPNioKBlJPeVuYFcYHhfFFg"
    ""}, {"Hangul", "KLgVjELlbXjPdJeEbNcEbNATbCbTyRNqmweWbIApEbdfcfcfcc"}, {"Hanifirohingya", "QWXd"
    "Nbij"}, {"Hanunoo", "STiu"}, {"Hatran", "AIWdsbbfe"}, {"Hebrew", "VCcCciAbefWVOdzbebabbbbbj"},
    {"Hiragana", "DHsHdgcVEPfAlsaDbcVMya"}, {"Imperialaramaic", "WBWdvbi"}, {"Inherited", "ODbHeRkb"
    "KrkAbaICbdXOgEbTtcbmbgeagadbQhLcEubMhGbXTfdDebJUZcpqnNLbaSiaAFgaUCTcTbcwYucrhcgEbdIHLTbFj"},
    {"Inscriptionalpahlavi", "QGXdsfh"}, {"Inscriptionalparthian", "KFXdvch"}, {"Javanese", "YEMcZc"
    "cjeb"}, {"Kaithi", "CFZdOcka"}, {"Kannada", "CTembcbwbjbecibcbdhbgbbdcjbc"}, {"Katakana", "VKs"
    "LdccGjpAiUbbJdEHZcjbSbCUOcdbgbbbaBlcYbaod"}, {"Kawi", "WREeqbObdBb"}, {"Kayahli", "AAMcTbba"},
    {"Kharoshthi", "CTWddbbfhbcbCbccejhi"}, {"Khitansmallscript", "IIJfaXGkBs"}, {"Khmer", "KXiPdcj"
    "gjSsFb"}, {"Khojki", "WTZdrbUb"}, {"Khudawadi", "QAAeGcfj"}, {"Lao", "VMfbbabebxbabwcebabgbjcd"
    ""}, {"Latin", "NczgzVbapafwbEbbGrNbeBXjLbgWbfdfmbRcNcVjFoanaqmLfbgaBbarObTCeFbMLUbXddLcfbbabey"
    "nKFbQbbibdQDEbgKObzgzFCdfbPbbiPNDdEbgf"}, {"Lepcha", "SPkDcdodc"}, {"Limbu", "EMjEbbleleadl"},
    {"Lineara", "SFVdYljvkh"}, {"Linearb", "QYSdlbzbsbbbocnIbSe"}, {"Lisu", "UKKcVbAMUba"},
    {"Lycian", "GXTdCb"}, {"Lydian", "MKWdzfa"}, {"Mahajani", "CNZdMb"}, {"Makasar", "QQEey"},
    {"Malayalam", "AYembcbYbbcbfepcz"}, {"Mandaic", "GDdBbca"}, {"Manichaean", "MAXdMbel"},
    {"Marchen", "QSDeFbcvbn"}, {"Masaramgondi", "EYDegbbbRbdabbbiij"}, {"Medefaidrin", "ESIfMd"},
    {"Meeteimayek", "MSMcwThTbcj"}, {"Mendekikakui", "YUChOhcp"}, {"Meroiticcursive", "KPWdxetcTb"},
    {"Meroitichieroglyphs", "EOWdFb"}, {"Miao", "OZIfWceEchq"}, {"Modi", "GHBeQclj"},
    {"Mongolian", "ICjbcabtgKdhQbBCSdm"}, {"Mro", "UEHfEbbjeb"}, {"Multani", "UYZdgbabdbobk"},
    {"Myanmar", "OBgDgYAGcEbTdFb"}, {"Nabataean", "IEWdEbii"}, {"Nagmundari", "OPBhPb"},
    {"Nandinagari", "YQCehcTbck"}, {"Newtailue", "CRjRbezgkdb"}, {"Newa", "ONAeNdbe"}, {"Nko", "IYc"
    "Gccc"}, {"Nushu", "FIJfaMVyFp"}, {"Nyiakengpuachuehmong", "AEAhSbdncjeb"}, {"Ogham", "ONiCb"},
    {"Olchiki", "USkVb"}, {"Oldhungarian", "SRXdYbnYbhf"}, {"Olditalic", "ECUdJbjc"},
    {"Oldnortharabian", "AYWdFb"}, {"Oldpermic", "GFUdQb"}, {"Oldpersian", "IIUdJben"},
    {"Oldsogdian", "IQYdNb"}, {"Oldsoutharabian", "UWWdFb"}, {"Oldturkic", "UMXdUc"},
    {"Olduyghur", "QUYdz"}, {"Oriya", "JEecbhcbcvbgbbbecicbcchcebbecr"}, {"Osage", "USUdJbeJb"},
    {"Osmanya", "YQUdDbcj"}, {"Pahawhhmong", "EMHfRckjbgbufs"}, {"Palmyrene", "CDWdFb"},
    {"Paucinhau", "ACDeEc"}, {"Phagspa", "QSLcDc"}, {"Phoenician", "GJWdBbda"},
    {"Psalterpahlavi", "WHXdrhdmg"}, {"Rejang", "WBMcJbla"}, {"Runic", "UOiWcdk"}, {"Samaritan", "U"
    "AdTbco"}, {"Saurashtra", "CVLcRcil"}, {"Sharada", "YOZdRd"}, {"Shavian", "CPUdVb"},
    {"Siddham", "ICBeBccLb"}, {"Signwriting", "KTWgBzpebo"}, {"Sinhala", "ZCfcbrdxbibacgdaefbabhgjc"
    "cGLUdt"}, {"Sogdian", "ESYdPb"}, {"Sorasompeng", "EIZdyhj"}, {"Soyombo", "SXCeEd"},
    {"Sundanese", "UKkLcWjh"}, {"Sylotinagri", "EQLcSb"}, {"Syriac", "YQcnbHcccMkk"},
    {"Tagalog", "MSivja"}, {"Tagbanwa", "EWimbcbb"}, {"Taile", "GPjDbce"}, {"Taitham", "GXjKcbCbckg"
    "jgn"}, {"Taiviet", "UOMcOcye"}, {"Takri", "EMBeFcgj"}, {"Tamil", "IJebbfdcbddbbabbdbdcdleedcbd"
    "cagaouHLAeXbna"}, {"Tangsa", "QGHfAdbj"}, {"Tangut", "EIJfaFbZBjiNDbSti"}, {"Telugu", "EOembcb"
    "wbpcibcbdhbbccacdcjhi"}, {"Thaana", "WVcXb"}, {"Thai", "XHfFcfBb"}, {"Tibetan", "SRfTcbJbeMbbJ"
    "bbobgeb"}, {"Tifinagh", "YCrDchboa"}, {"Tirhuta", "MSAeTcij"}, {"Toto", "KTAhEb"},
    {"Ugaritic", "CHUdDbba"}, {"Vai", "QMKcNl"}, {"Vithkuqi", "EAVdkbobgbbbkbobgbb"}, {"Wancho", "G"
    "VAhFcfa"}, {"Warangciti", "CHCeEdma"}, {"Yezidi", "KLYdPbbccb"}, {"Yi", "KPIcUSbdCc"},
    {"Zanabazarsquare", "QUCeTc"},
};
const size_t regex_n_unicode_tables = ELEMENTS_OF(regex_unicode_tables);
const size_t regex_n_unicode_categories = 29;

const RegexUnicodeAlias regex_unicode_aliases[] = {
    {"Casedletter", "Lc"}, {"Closepunctuation", "Pe"}, {"Combiningmark", "M"},
    {"Connectorpunctuation", "Pc"}, {"Control", "Cc"}, {"Currencysymbol", "Sc"},
    {"Dashpunctuation", "Pd"}, {"Decimalnumber", "Nd"}, {"Enclosingmark", "Me"},
    {"Finalpunctuation", "Pf"}, {"Format", "Cf"}, {"Initialpunctuation", "Pi"}, {"Letter", "L"},
    {"Letternumber", "Nl"}, {"Lineseparator", "Zl"}, {"Lowercaseletter", "Ll"}, {"Mark", "M"},
    {"Mathsymbol", "Sm"}, {"Modifierletter", "Lm"}, {"Modifiersymbol", "Sk"},
    {"Nonspacingmark", "Mn"}, {"Number", "N"}, {"Openpunctuation", "Ps"}, {"Other", "C"},
    {"Otherletter", "Lo"}, {"Othernumber", "No"}, {"Otherpunctuation", "Po"}, {"Othersymbol", "So"},
    {"Paragraphseparator", "Zp"}, {"Privateuse", "Co"}, {"Punctuation", "P"}, {"Separator", "Z"},
    {"Spaceseparator", "Zs"}, {"Spacingmark", "Mc"}, {"Surrogate", "Cs"}, {"Symbol", "S"},
    {"Titlecaseletter", "Lt"}, {"Unassigned", "Cn"}, {"Uppercaseletter", "Lu"}, {"Cntrl", "Cc"},
    {"Digit", "Nd"}, {"Punct", "P"},
};
const size_t regex_n_unicode_aliases = ELEMENTS_OF(regex_unicode_aliases);

const RegexFold regex_folds[] = {
    {0x41, 0x53, 32, 1}, {0x4b, 0x4b, 8415, 1}, {0x53, 0x53, 300, 1}, {0x54, 0x5a, 32, 1},
    {0xb5, 0xb5, 743, 1}, {0xb5, 0xb5, 775, 1}, {0xc0, 0xd6, 32, 1}, {0xc5, 0xc5, 8294, 1},
    {0xd8, 0xde, 32, 1}, {0xdf, 0xdf, 7615, 1}, {0xff, 0xff, 121, 1}, {0x100, 0x12e, 1, 2},
    {0x132, 0x136, 1, 2}, {0x139, 0x147, 1, 2}, {0x14a, 0x176, 1, 2}, {0x179, 0x17d, 1, 2},
    {0x180, 0x180, 195, 1}, {0x181, 0x181, 210, 1}, {0x182, 0x184, 1, 2}, {0x186, 0x186, 206, 1},
    {0x187, 0x187, 1, 1}, {0x189, 0x18a, 205, 1}, {0x18b, 0x18b, 1, 1}, {0x18e, 0x18e, 79, 1},
    {0x18f, 0x18f, 202, 1}, {0x190, 0x190, 203, 1}, {0x191, 0x191, 1, 1}, {0x193, 0x193, 205, 1},
    {0x194, 0x194, 207, 1}, {0x195, 0x195, 97, 1}, {0x196, 0x196, 211, 1}, {0x197, 0x197, 209, 1},
    {0x198, 0x198, 1, 1}, {0x19a, 0x19a, 163, 1}, {0x19c, 0x19c, 211, 1}, {0x19d, 0x19d, 213, 1},
    {0x19e, 0x19e, 130, 1}, {0x19f, 0x19f, 214, 1}, {0x1a0, 0x1a4, 1, 2}, {0x1a6, 0x1a6, 218, 1},
    {0x1a7, 0x1a7, 1, 1}, {0x1a9, 0x1a9, 218, 1}, {0x1ac, 0x1ac, 1, 1}, {0x1ae, 0x1ae, 218, 1},
    {0x1af, 0x1af, 1, 1}, {0x1b1, 0x1b2, 217, 1}, {0x1b3, 0x1b5, 1, 2}, {0x1b7, 0x1b7, 219, 1},
    {0x1b8, 0x1b8, 1, 1}, {0x1bc, 0x1bc, 1, 1}, {0x1bf, 0x1bf, 56, 1}, {0x1c4, 0x1c4, 1, 1},
    {0x1c4, 0x1c4, 2, 1}, {0x1c7, 0x1c7, 1, 1}, {0x1c7, 0x1c7, 2, 1}, {0x1ca, 0x1ca, 1, 1},
    {0x1ca, 0x1ca, 2, 1}, {0x1cd, 0x1db, 1, 2}, {0x1de, 0x1ee, 1, 2}, {0x1f1, 0x1f1, 1, 1},
    {0x1f1, 0x1f1, 2, 1}, {0x1f4, 0x1f4, 1, 1}, {0x1f8, 0x21e, 1, 2}, {0x222, 0x232, 1, 2},
    {0x23a, 0x23a, 10795, 1}, {0x23b, 0x23b, 1, 1}, {0x23e, 0x23e, 10792, 1},
    {0x23f, 0x240, 10815, 1}, {0x241, 0x241, 1, 1}, {0x244, 0x244, 69, 1}, {0x245, 0x245, 71, 1},
    {0x246, 0x24e, 1, 2}, {0x250, 0x250, 10783, 1}, {0x251, 0x251, 10780, 1},
    {0x252, 0x252, 10782, 1}, {0x25c, 0x25c, 42319, 1}, {0x261, 0x261, 42315, 1},
    {0x265, 0x265, 42280, 1}, {0x266, 0x266, 42308, 1}, {0x26a, 0x26a, 42308, 1},
    {0x26b, 0x26b, 10743, 1}, {0x26c, 0x26c, 42305, 1}, {0x271, 0x271, 10749, 1},
    {0x27d, 0x27d, 10727, 1}, {0x282, 0x282, 42307, 1}, {0x287, 0x287, 42282, 1},
    {0x29d, 0x29d, 42261, 1}, {0x29e, 0x29e, 42258, 1}, {0x345, 0x345, 84, 1},
    {0x345, 0x345, 116, 1}, {0x345, 0x345, 7289, 1}, {0x370, 0x372, 1, 2}, {0x376, 0x376, 1, 1},
    {0x37b, 0x37d, 130, 1}, {0x37f, 0x37f, 116, 1}, {0x386, 0x386, 38, 1}, {0x388, 0x38a, 37, 1},
    {0x38c, 0x38c, 64, 1}, {0x38e, 0x38f, 63, 1}, {0x391, 0x395, 32, 1}, {0x392, 0x392, 62, 1},
    {0x395, 0x395, 96, 1}, {0x396, 0x398, 32, 1}, {0x398, 0x398, 57, 1}, {0x398, 0x398, 92, 1},
    {0x39a, 0x39b, 32, 1}, {0x39a, 0x39a, 86, 1}, {0x39d, 0x3a1, 32, 1}, {0x3a0, 0x3a0, 54, 1},
    {0x3a1, 0x3a1, 80, 1}, {0x3a3, 0x3a3, 31, 1}, {0x3a3, 0x3a9, 32, 1}, {0x3a6, 0x3a6, 47, 1},
    {0x3a9, 0x3a9, 7549, 1}, {0x3aa, 0x3ab, 32, 1}, {0x3cf, 0x3cf, 8, 1}, {0x3d8, 0x3ee, 1, 2},
    {0x3f2, 0x3f2, 7, 1}, {0x3f7, 0x3f7, 1, 1}, {0x3fa, 0x3fa, 1, 1}, {0x400, 0x40f, 80, 1},
    {0x410, 0x414, 32, 1}, {0x412, 0x412, 6254, 1}, {0x414, 0x414, 6253, 1}, {0x415, 0x421, 32, 1},
    {0x41e, 0x41e, 6244, 1}, {0x421, 0x422, 6242, 1}, {0x422, 0x42a, 32, 1},
    {0x422, 0x422, 6243, 1}, {0x42a, 0x42a, 6236, 1}, {0x42b, 0x42f, 32, 1}, {0x460, 0x480, 1, 2},
    {0x462, 0x462, 6181, 1}, {0x48a, 0x4be, 1, 2}, {0x4c0, 0x4c0, 15, 1}, {0x4c1, 0x4cd, 1, 2},
    {0x4d0, 0x52e, 1, 2}, {0x531, 0x556, 48, 1}, {0x10a0, 0x10c5, 7264, 1},
    {0x10c7, 0x10c7, 7264, 1}, {0x10cd, 0x10cd, 7264, 1}, {0x10d0, 0x10fa, 3008, 1},
    {0x10fd, 0x10ff, 3008, 1}, {0x13a0, 0x13ef, 38864, 1}, {0x13f0, 0x13f5, 8, 1},
    {0x1c88, 0x1c88, 35266, 1}, {0x1c88, 0x1c88, 35267, 1}, {0x1d79, 0x1d79, 35332, 1},
    {0x1d7d, 0x1d7d, 3814, 1}, {0x1d8e, 0x1d8e, 35384, 1}, {0x1e00, 0x1e94, 1, 2},
    {0x1e60, 0x1e60, 59, 1}, {0x1ea0, 0x1efe, 1, 2}, {0x1f00, 0x1f07, 8, 1}, {0x1f10, 0x1f15, 8, 1},
    {0x1f20, 0x1f27, 8, 1}, {0x1f30, 0x1f37, 8, 1}, {0x1f40, 0x1f45, 8, 1}, {0x1f51, 0x1f57, 8, 2},
    {0x1f60, 0x1f67, 8, 1}, {0x1f70, 0x1f71, 74, 1}, {0x1f72, 0x1f75, 86, 1},
    {0x1f76, 0x1f77, 100, 1}, {0x1f78, 0x1f79, 128, 1}, {0x1f7a, 0x1f7b, 112, 1},
    {0x1f7c, 0x1f7d, 126, 1}, {0x1f80, 0x1f87, 8, 1}, {0x1f90, 0x1f97, 8, 1},
    {0x1fa0, 0x1fa7, 8, 1}, {0x1fb0, 0x1fb1, 8, 1}, {0x1fb3, 0x1fb3, 9, 1}, {0x1fc3, 0x1fc3, 9, 1},
    {0x1fd0, 0x1fd1, 8, 1}, {0x1fe0, 0x1fe1, 8, 1}, {0x1fe5, 0x1fe5, 7, 1}, {0x1ff3, 0x1ff3, 9, 1},
    {0x2132, 0x2132, 28, 1}, {0x2160, 0x216f, 16, 1}, {0x2183, 0x2183, 1, 1},
    {0x24b6, 0x24cf, 26, 1}, {0x2c00, 0x2c2f, 48, 1}, {0x2c60, 0x2c60, 1, 1},
    {0x2c67, 0x2c6b, 1, 2}, {0x2c72, 0x2c72, 1, 1}, {0x2c75, 0x2c75, 1, 1}, {0x2c80, 0x2ce2, 1, 2},
    {0x2ceb, 0x2ced, 1, 2}, {0x2cf2, 0x2cf2, 1, 1}, {0xa640, 0xa648, 1, 2}, {0xa64c, 0xa66c, 1, 2},
    {0xa680, 0xa69a, 1, 2}, {0xa722, 0xa72e, 1, 2}, {0xa732, 0xa76e, 1, 2}, {0xa779, 0xa77b, 1, 2},
    {0xa77e, 0xa786, 1, 2}, {0xa78b, 0xa78b, 1, 1}, {0xa790, 0xa792, 1, 2}, {0xa794, 0xa794, 48, 1},
    {0xa796, 0xa7a8, 1, 2}, {0xa7b3, 0xa7b3, 928, 1}, {0xa7b4, 0xa7c2, 1, 2},
    {0xa7c7, 0xa7c9, 1, 2}, {0xa7d0, 0xa7d0, 1, 1}, {0xa7d6, 0xa7d8, 1, 2}, {0xa7f5, 0xa7f5, 1, 1},
    {0xff21, 0xff3a, 32, 1}, {0x10400, 0x10427, 40, 1}, {0x104b0, 0x104d3, 40, 1},
    {0x10570, 0x1057a, 39, 1}, {0x1057c, 0x1058a, 39, 1}, {0x1058c, 0x10592, 39, 1},
    {0x10594, 0x10595, 39, 1}, {0x10c80, 0x10cb2, 64, 1}, {0x118a0, 0x118bf, 32, 1},
    {0x16e40, 0x16e5f, 32, 1}, {0x1e900, 0x1e921, 34, 1},
};
const size_t regex_n_folds = ELEMENTS_OF(regex_folds);
