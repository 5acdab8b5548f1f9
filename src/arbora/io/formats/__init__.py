"""The formats that trees are read from, a file for each; `arbora.io.registry` finds them."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see, written by arbora.io.manual; names themselves are lazy
    from .brackets import read_brackets as read_brackets
    from .code import read_code as read_code
    from .conllu import read_conllu as read_conllu
    from .decisions import read_decisions as read_decisions
    from .documents import read_documents as read_documents
    from .dotbracket import read_dotbracket as read_dotbracket
    from .elastic import read_elastic as read_elastic
    from .glycans import read_glycans as read_glycans
    from .html import read_html as read_html
    from .json import read_json as read_json
    from .jsonl import read_jsonl as read_jsonl
    from .newick import read_newick as read_newick
    from .nexus import read_nexus as read_nexus
    from .nodes import read_nodes as read_nodes
    from .python import read_python as read_python
    from .sitemap import read_sitemap as read_sitemap
    from .swc import read_swc as read_swc
    from .traces import read_traces as read_traces
    from .warc import read_warc as read_warc
    from .xml import read_xml as read_xml
