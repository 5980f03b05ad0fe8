/** The style of the page. Its hash is in the page's policy: there is no other, and no `style` attribute. */
export const STYLE = `
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--fg:#17202b;--soft:#536070;--line:#dde2e9;--rail:#e7ebf0;--link:#14508c;--critical:#b01e1e;--warning:#875200;--well:#1c6b41;--new:#4a5878;--mark:#8fa3bb;--tint-critical:#fdecea;--tint-warning:#fff4dc;--focus:#1a66c2}
@media(prefers-color-scheme:dark){:root{--bg:#0f141a;--card:#171e27;--fg:#e7ecf2;--soft:#a3b0bf;--line:#2a3441;--rail:#263140;--link:#8fc2ff;--critical:#ff9188;--warning:#f1bd54;--well:#7ed6a0;--new:#b4c1dc;--mark:#51657d;--tint-critical:#3a1d1e;--tint-warning:#352a14;--focus:#8fc2ff}}
@media(prefers-contrast:more){:root{--soft:var(--fg);--line:var(--fg)}}
*{box-sizing:border-box}
html{scroll-padding-top:3rem}
body{margin:0 auto;max-width:1360px;padding:14px 24px 40px;background:var(--bg);color:var(--fg);font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-999px}.skip:focus{left:12px;top:8px;background:var(--card);padding:6px 12px;z-index:2}
header{display:flex;justify-content:space-between;align-items:baseline;gap:16px;flex-wrap:wrap}
h1{font-size:15px;font-weight:650;margin:0}h1 small{font-weight:400;color:var(--soft);margin-left:6px;font-size:13px}
#made{margin:0;color:var(--soft);font-size:13px}
h2{font-size:15px;font-weight:650;margin:0 0 10px}h2 small{color:var(--soft);font-weight:400}
.answers h2{font-size:27px;line-height:1.25;letter-spacing:-.015em;margin:12px 0 6px}.answers h2 small{font-size:17px;letter-spacing:0;margin-left:4px}
b.critical,td.critical,.expiring .critical b{color:var(--critical)}
b.warning,b.noted,td.warning,tr.noted>td:nth-child(2){color:var(--warning)}b.new{color:var(--new)}b.well,td.well{color:var(--well)}
.stories{list-style:none;margin:0 0 12px;padding:0}.stories li{white-space:nowrap;overflow:hidden;text-overflow:ellipsis;line-height:1.6}.stories b{display:inline-block;min-width:5.6em;font-weight:650}.stories a{font-weight:650}.stories code{margin-left:6.8em}.stories small{display:block;margin-left:7.8em;white-space:normal}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:0 0 14px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px 14px;display:flex;flex-direction:column}
.tile dt{font-weight:600;font-size:13px}.tile dt b{display:block;font-size:27px;font-weight:650;line-height:1.15;letter-spacing:-.02em}.tile dt small{font-size:15px;font-weight:500;color:var(--soft);letter-spacing:0}.tile dd{margin:3px 0 0;font-size:12px;line-height:1.4;color:var(--soft)}
#old{background:var(--tint-warning);border:2px solid var(--warning);border-radius:10px;padding:10px 14px;margin:12px 0;font-size:16px}#old b{color:var(--warning)}.old .answers h2{font-size:18px;color:var(--soft)}.old .answers h2 b{color:inherit}
#empty{background:var(--tint-warning);border-radius:8px;padding:10px 14px;margin:0 0 10px;overflow-wrap:anywhere}#empty[hidden]{display:none}#empty button{background:var(--card);border:1px solid var(--soft);border-radius:7px;padding:4px 12px}
.proofs{display:grid;grid-template-columns:auto auto minmax(0,1fr);gap:2px 14px;align-items:center;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:8px 16px;margin-bottom:12px}
.proofs h2,.proofs p{margin:0}.proofs ul{grid-column:1/-1;list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:0 14px}.proofs .none{color:var(--soft)}.proofs i{font-style:normal}.proofs .critical{color:var(--critical)}.proofs .warning{color:var(--warning)}.proofs .well i{color:var(--well)}

.two{display:grid;grid-template-columns:minmax(0,1fr) 350px;gap:12px}
.two{margin-bottom:26px}
.two>section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 16px}
.expiring{list-style:none;margin:0;padding:0}
.expiring li,.axis{display:grid;grid-template-columns:minmax(0,22em) minmax(0,1fr) 11em;gap:12px;align-items:center}
.expiring li{height:25px}.expiring a{color:inherit;text-decoration:none;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}.expiring a:hover{text-decoration:underline}.expiring a span{color:var(--soft)}
.expiring b{display:inline-block;width:1.1em;text-align:center}.expiring .warning b{color:var(--warning)}.expiring .well b{color:var(--well)}
.expiring .when{font-size:13px;white-space:nowrap}.expiring .critical .when{color:var(--critical);font-weight:650}.expiring .warning .when{color:var(--warning)}
svg{display:block;width:100%;overflow:visible}.track{height:18px}
.rail{fill:var(--rail)}.critical .fill,rect.critical{fill:var(--critical)}.warning .fill,rect.warning{fill:var(--warning)}.well .fill,rect.well{fill:var(--mark)}rect.gap{fill:var(--card)}
.axis{margin:26px 0 0}.axis svg{grid-column:2}.axis figcaption{grid-column:1;grid-row:1;font-size:12px;color:var(--soft);align-self:start}
.zones rect{fill:var(--rail);opacity:.55}.ticks line{stroke:var(--line)}.labels text{fill:var(--soft);font-size:11.5px;text-anchor:middle}.labels .to{text-anchor:end}.labels .count{font-weight:600}
.more,.calm,.ages{color:var(--soft);margin:4px 0}.ages{font-size:12px;border-top:1px solid var(--line);padding-top:8px;margin:8px 0 0}
.unknown ul{list-style:none;margin:0;padding:0}.unknown li{line-height:1.62}.unknown li i{font-style:normal;display:inline-block;width:1.3em;text-align:center}
.unknown .bad i,.unknown .bad b{color:var(--critical)}.unknown .odd i,.unknown .odd b{color:var(--warning)}.unknown .none,.unknown .quiet,.names{color:var(--soft)}.none b{font-weight:400}
.names{display:block;padding-left:1.3em;font-size:12px;line-height:1.4;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
#tools{display:flex;gap:8px 14px;flex-wrap:wrap;align-items:center;margin-bottom:10px}
#tools label{display:flex;gap:8px;align-items:center;font-weight:600}
input{font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:7px;padding:5px 10px;width:17em}
button{font:inherit;color:inherit;cursor:pointer}
fieldset{border:0;margin:0;padding:0;display:flex;gap:6px;flex-wrap:wrap}legend{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
fieldset button{background:var(--card);border:1px solid var(--line);border-radius:99px;padding:3px 11px}fieldset button[aria-pressed=true]{background:var(--fg);color:var(--bg);border-color:var(--fg)}
#shown{color:var(--soft);margin:0 0 0 auto}
.cut{background:var(--tint-warning);border-radius:8px;padding:8px 12px;margin:0 0 10px;overflow-wrap:anywhere}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:10px}
#table{border-collapse:collapse;width:100%;min-width:1080px;table-layout:fixed}#table>thead th:nth-child(1){width:22%}#table>thead th:nth-child(2){width:10em}#table>thead th:nth-child(4){width:17em}#table>thead th:nth-child(5){width:10em}#table>thead th:nth-child(6){width:10.5em}
#table>thead th{text-align:left;font-size:12.5px;font-weight:600;color:var(--soft);border-bottom:1px solid var(--line);padding:7px 12px;white-space:nowrap}
#table>thead button{background:none;border:0;padding:0;font-weight:600;color:inherit}thead [aria-sort]{color:var(--fg)!important}
#table>tbody>tr>th,#table>tbody>tr>td{text-align:left;vertical-align:top;padding:6px 12px;border-bottom:1px solid var(--line);font-weight:400}
#table>tbody>tr:last-child>*{border-bottom:0}
tbody th{overflow-wrap:anywhere}tbody th small,td small{color:var(--soft);font-size:12px}tbody th small{display:block;padding-left:1.45em}
tbody th button{background:none;border:0;padding:0;font-weight:600;text-align:left;color:var(--link);overflow-wrap:anywhere}
tbody th button::before{content:"▸";display:inline-block;width:1.25em;color:var(--soft)}tbody th button[aria-expanded=true]::before{content:"▾"}
tbody>tr>td:nth-child(3){overflow-wrap:anywhere}tbody>tr>td:nth-child(3)>small{white-space:nowrap}tbody>tr>td:nth-child(4)>small{display:block}
#table>tbody>tr.critical>td:nth-child(2){color:var(--critical);font-weight:650}#table>tbody>tr.warning>td:nth-child(2){color:var(--warning);font-weight:650}tr.well>td:nth-child(2){color:var(--well)}tr.new>td:nth-child(2),tr.maintenance>td:nth-child(2){color:var(--new)}tr.gone,tr.well>td:nth-child(3){color:var(--soft)}
tr.critical>th{box-shadow:inset 4px 0 var(--critical)}tr.warning>th{box-shadow:inset 4px 0 var(--warning)}
#table>tbody>tr.detail>td{white-space:normal;padding:4px 20px 20px;background:var(--bg);min-width:0}
.detail h3{font-size:13px;margin:16px 0 6px}.detail p{margin:4px 0}.detail ul{list-style:none;margin:0;padding:0}
.detail li{margin:0 0 10px;padding-left:10px;border-left:3px solid var(--line)}.detail li.critical{border-color:var(--critical)}.detail li.warning{border-color:var(--warning)}
.detail li.critical>b{color:var(--critical)}.detail li.warning>b{color:var(--warning)}
.detail small,.detail .soft{color:var(--soft);font-size:12.5px}
code{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
.detail code{display:inline-block;background:var(--card);border:1px solid var(--line);border-radius:5px;padding:1px 7px;user-select:all;margin-top:3px;max-width:100%}
.detail table{border-collapse:collapse;width:100%;max-width:1200px}.detail table th,.detail table td{text-align:left;vertical-align:top;padding:3px 14px 3px 0;font-weight:400;min-width:0;white-space:normal;overflow-wrap:anywhere}.detail thead th{font-size:12px;color:var(--soft)}
.detail .classes tbody th{min-width:14em}.detail .classes td:nth-child(3){white-space:nowrap}.detail .classes td:last-child{min-width:10em}.detail .life{width:170px}.detail .life svg{height:8px;margin-top:6px;width:150px}
.detail td.critical,.detail td.warning{font-weight:650}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;margin:0}.facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}
.problems{padding-left:1.1em}.problems li{margin-bottom:8px;overflow-wrap:anywhere}
#discovery{margin-top:26px}
footer{color:var(--soft);font-size:12px;margin-top:24px}
@media(max-width:1000px){.two{grid-template-columns:minmax(0,1fr)}}
@media(max-width:640px){body{padding:12px}.proofs{grid-template-columns:minmax(0,1fr)}.expiring li,.axis{grid-template-columns:minmax(0,1fr) auto}.expiring .track{display:none}.axis svg{grid-column:1/-1}.axis figcaption{grid-column:1/-1;grid-row:auto}.stories li{white-space:normal}.stories code,.stories small{margin:0}}
@media screen and (max-width:900px){.scroll{overflow:visible;background:none;border:0}#table{display:block;min-width:0}#table>thead{display:block;margin-bottom:8px}#table>thead>tr{display:flex;flex-wrap:wrap;gap:6px}#table>thead th:nth-child(n+5){display:none}#table>thead>tr>th{border:1px solid var(--line);border-radius:99px;padding:0;width:auto!important}#table>thead button{padding:8px 12px;min-height:36px}#table>tbody{display:block}
#table>tbody>tr:not([hidden]){display:grid;grid-template-columns:minmax(0,1fr) auto;gap:2px 10px;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:8px 12px;margin-bottom:8px}#table>tbody>tr>*{padding:0!important;border:0!important}#table>tbody>tr>td:nth-child(3),#table>tbody>tr>td:nth-child(4){grid-column:1/-1}#table>tbody>tr>td:nth-child(4)>small{display:inline}#table>tbody>tr>td:nth-child(4)::before{content:"Expires first: ";color:var(--soft)}#table>tbody>tr>td:nth-child(n+5){display:none}#table>tbody>tr>th{box-shadow:none}#table>tbody>tr.critical{border-left:4px solid var(--critical)}#table>tbody>tr.warning{border-left:4px solid var(--warning)}
#table>tbody>tr>th button,.names a,.expiring a,.facts a,#empty button,.skip,#discovery a,h2 a,.unknown li>a{display:inline-block;min-height:28px;line-height:28px}.tile a,.stories a{padding:7px 0}.proofs a{display:inline-block;min-height:28px;line-height:28px}.tile dd{line-height:1.7}.stories li{overflow-wrap:anywhere}.expiring li{min-height:32px;height:auto}fieldset button{min-height:36px}input{min-height:38px;width:100%}#tools label{flex:none}#tools>input{flex:1 1 12em}#shown{margin:0}
#table>tbody>tr.detail:not([hidden]){display:block;background:none;border:0;padding:0 0 0 4px}#table>tbody>tr.detail>td{display:block;width:100%}.detail table,.detail tbody,.detail tr{display:block}.detail thead{display:none}.detail table tr{border-bottom:1px solid var(--line);padding:5px 0}.detail table th,.detail table td{display:block;padding:1px 0}.detail .classes td:nth-child(3){white-space:normal}.detail .life{width:auto}.detail .life svg{width:100%;max-width:240px;margin:4px 0}.facts{grid-template-columns:minmax(0,1fr);gap:0}.facts dd{margin-bottom:6px}.stories li{white-space:normal;line-height:1.4;margin-bottom:4px}}
@media(prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media(forced-colors:active){.rail,.zones rect{fill:GrayText}.fill,rect.critical,rect.warning,rect.well{fill:CanvasText}}
@media print{:root{--bg:#fff;--card:#fff;--fg:#000;--soft:#444;--line:#bbb;--rail:#e7ebf0;--link:#000;--critical:#a01010;--warning:#6f4300;--well:#14532d;--new:#333;--mark:#8fa3bb}body{padding:0;max-width:none;zoom:.72}*{print-color-adjust:exact}#tools,.skip{display:none!important}.two{grid-template-columns:minmax(0,1fr) 300px}.tiles{grid-template-columns:repeat(6,1fr)}.scroll{overflow:visible;border:0}tr,li{break-inside:avoid}tr.detail{break-inside:auto}#table>tbody>tr[hidden]:not(.detail){display:table-row!important}.tiles{gap:6px}.tile{padding:6px 8px}a{text-decoration:none}.stories li{white-space:normal}.expiring li,.axis{grid-template-columns:minmax(0,15em) minmax(0,1fr) 9.8em}.expiring .track{display:block}.axis svg{grid-column:2}.axis figcaption{grid-column:1;grid-row:1}#table>tbody>tr>th,#table>tbody>tr>td{padding:3px 8px}#table{min-width:0}}
`;
