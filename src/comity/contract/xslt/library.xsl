<?xml version="1.0" encoding="UTF-8"?>
<!-- The functions that printed mappings call. A mapping brings those that it uses, and what they use. -->
<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:xs="http://www.w3.org/2001/XMLSchema"
                xmlns:array="http://www.w3.org/2005/xpath-functions/array" xmlns:c="urn:comity:xslt" xmlns:e="urn:comity:event"
                xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <!-- An event without namespaces and missing values, its envelope in attributes; `taken` are elements that are not. -->
  <xsl:function name="c:plain">
    <xsl:param name="event"/>
    <xsl:param name="taken"/>
    <xsl:variable name="parts" select="$event/(*:id, *:src, *:ts)[not(local-name() = $taken)]"/>
    <xsl:element name="{if (local-name($event) eq 'Event' and $event/@type) then translate($event/@type, ' ', '_') else local-name($event)}">
      <xsl:for-each select="($event/@e:id, $parts[local-name() eq 'id'])[1]"><xsl:attribute name="id" select="."/></xsl:for-each>
      <xsl:for-each select="($event/@e:source, $parts[local-name() eq 'src'])[1]"><xsl:attribute name="source" select="."/></xsl:for-each>
      <xsl:for-each select="($event/@e:time, $parts[local-name() eq 'ts'])[1]"><xsl:attribute name="time" select="."/></xsl:for-each>
      <xsl:for-each select="$event/(@e:subject, @e:sequence, @e:mode)"><xsl:attribute name="{local-name()}" select="."/></xsl:for-each>
      <xsl:for-each select="$event/@e:typeversion"><xsl:attribute name="version" select="."/></xsl:for-each>
      <xsl:sequence select="($event/* except $parts) ! c:element(.)"/>
    </xsl:element>
  </xsl:function>
  <!-- The envelope of such an event again: identity and time as elements, but those that are taken, the rest as attributes. -->
  <xsl:function name="c:envelope">
    <xsl:param name="event"/>
    <xsl:param name="taken"/>
    <xsl:for-each select="$event/(@subject, @sequence, @mode), $event/@id['id' = $taken], $event/@source['src' = $taken], $event/@time['ts' = $taken]">
      <xsl:attribute name="e:{local-name()}" select="."/>
    </xsl:for-each>
    <xsl:for-each select="$event/@version"><xsl:attribute name="e:typeversion" select="."/></xsl:for-each>
    <xsl:for-each select="$event/@id[not('id' = $taken)]"><id><xsl:value-of select="."/></id></xsl:for-each>
    <xsl:for-each select="$event/@source[not('src' = $taken)]"><src><xsl:value-of select="."/></src></xsl:for-each>
    <xsl:for-each select="$event/@time[not('ts' = $taken)]"><ts><xsl:value-of select="."/></ts></xsl:for-each>
  </xsl:function>
  <xsl:function name="c:element">
    <xsl:param name="element"/>
    <xsl:for-each select="$element[not(@xsi:nil = ('true', '1'))]">
      <xsl:element name="{local-name()}"><xsl:sequence select="if (*) then * ! c:element(.) else string(.)"/></xsl:element>
    </xsl:for-each>
  </xsl:function>
  <!-- An int of 64 bits or a finite float; otherwise there is no value. -->
  <xsl:function name="c:number">
    <xsl:param name="number"/>
    <xsl:sequence select="if ($number instance of xs:integer) then c:int($number) else c:finite($number)"/>
  </xsl:function>
  <xsl:function name="c:int">
    <xsl:param name="number"/>
    <xsl:sequence select="$number[. ge -9223372036854775808 and . le 9223372036854775807]"/>
  </xsl:function>
  <xsl:function name="c:finite">
    <xsl:param name="number"/>
    <xsl:sequence select="$number[. eq . and abs(.) lt xs:double('INF')]"/>
  </xsl:function>
  <!-- The whole number that a float is. -->
  <xsl:function name="c:whole">
    <xsl:param name="number"/>
    <xsl:sequence select="$number[abs(.) lt 1e19] ! c:int(xs:integer(.))"/>
  </xsl:function>
  <!-- Numbers that compare exactly: XPath would round an integer that meets a double. -->
  <xsl:function name="c:exact">
    <xsl:param name="number"/>
    <xsl:sequence select="$number ! (if (. instance of xs:double) then xs:decimal(.) else .)"/>
  </xsl:function>
  <!-- A float as a text that reads as the same float: `string` loses the last digit of some. -->
  <xsl:function name="c:float-text">
    <xsl:param name="number"/>
    <xsl:sequence select="$number ! (if (xs:double(string(.)) eq .) then string(.) else string(xs:decimal(.)))"/>
  </xsl:function>
  <xsl:function name="c:divide">
    <xsl:param name="left"/>
    <xsl:param name="right"/>
    <xsl:sequence select="$right[. ne 0] ! c:finite(xs:double($left) div xs:double(.))"/>
  </xsl:function>
  <xsl:function name="c:remainder">
    <xsl:param name="left"/>
    <xsl:param name="right"/>
    <xsl:sequence select="$right[. ne 0] ! c:number($left mod .)"/>
  </xsl:function>
  <xsl:function name="c:between">
    <xsl:param name="value"/>
    <xsl:param name="low"/>
    <xsl:param name="high"/>
    <xsl:sequence select="$value ge $low and $value le $high"/>
  </xsl:function>
  <xsl:function name="c:outside">
    <xsl:param name="value"/>
    <xsl:param name="low"/>
    <xsl:param name="high"/>
    <xsl:sequence select="exists($value) and exists($low) and exists($high) and not(c:between($value, $low, $high))"/>
  </xsl:function>
  <xsl:function name="c:none-of">
    <xsl:param name="value"/>
    <xsl:param name="items"/>
    <xsl:sequence select="exists($value) and not($value = $items)"/>
  </xsl:function>
  <!-- Points, which are arrays of two doubles. -->
  <xsl:function name="c:point">
    <xsl:param name="x"/>
    <xsl:param name="y"/>
    <xsl:sequence select="if (exists($x) and exists($y)) then [xs:double($x), xs:double($y)] else ()"/>
  </xsl:function>
  <xsl:function name="c:same-point">
    <xsl:param name="left"/>
    <xsl:param name="right"/>
    <xsl:sequence select="exists($left) and deep-equal($left, $right)"/>
  </xsl:function>
  <xsl:function name="c:other-point">
    <xsl:param name="left"/>
    <xsl:param name="right"/>
    <xsl:sequence select="exists($left) and exists($right) and not(deep-equal($left, $right))"/>
  </xsl:function>
  <!-- Texts. -->
  <xsl:function name="c:join">
    <xsl:param name="parts"/>
    <xsl:sequence select="if (some $at in 1 to array:size($parts) satisfies empty($parts($at))) then () else string-join(array:flatten($parts))"/>
  </xsl:function>
  <xsl:function name="c:substring">
    <xsl:param name="text"/>
    <xsl:param name="start"/>
    <xsl:sequence select="c:substring($text, $start, $text ! string-length(.))"/>
  </xsl:function>
  <xsl:function name="c:substring">
    <xsl:param name="text"/>
    <xsl:param name="start"/>
    <xsl:param name="length"/>
    <xsl:variable name="all" select="$text ! string-length(.)"/>
    <xsl:sequence select="if (empty($text) or not($start ge 1 and $length ge 0)) then () else if ($start gt $all) then '' else substring($text, $start, min(($length, $all)))"/>
  </xsl:function>
  <xsl:function name="c:replace">
    <xsl:param name="text"/>
    <xsl:param name="old"/>
    <xsl:param name="new"/>
    <xsl:sequence select="if (empty($text) or empty($old) or empty($new)) then () else if ($old eq '') then $text else replace($text, $old, $new, 'q')"/>
  </xsl:function>
  <!-- Numbers that texts spell as JSON does, and whole numbers. -->
  <xsl:function name="c:as-int">
    <xsl:param name="value"/>
    <xsl:sequence select="$value ! (if (. instance of xs:integer) then . else if (. instance of xs:double) then .[. eq floor(.)] ! c:whole(.) else .[string-length(.) le 20 and matches(., '^-?(0|[1-9][0-9]*)$')] ! c:int(xs:integer(.)))"/>
  </xsl:function>
  <xsl:function name="c:as-float">
    <xsl:param name="value"/>
    <xsl:sequence select="$value[not(. instance of xs:string) or matches(., '^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$')] ! c:finite(xs:double(.))"/>
  </xsl:function>
  <!-- Parts of texts around a separator. -->
  <xsl:function name="c:split">
    <xsl:param name="text"/>
    <xsl:param name="separator"/>
    <xsl:param name="last"/>
    <xsl:variable name="length" select="$separator ! string-length(.)"/>
    <xsl:variable name="places" select="if (empty($text) or not($length ge 1)) then () else 1 to string-length($text) - $length + 1"/>
    <xsl:sequence select="(if ($last) then reverse($places) else $places)[substring($text, ., $length) eq $separator][1]"/>
  </xsl:function>
  <xsl:function name="c:before">
    <xsl:param name="text"/>
    <xsl:param name="separator"/>
    <xsl:param name="last"/>
    <xsl:sequence select="c:split($text, $separator, $last) ! substring($text, 1, . - 1)"/>
  </xsl:function>
  <xsl:function name="c:after">
    <xsl:param name="text"/>
    <xsl:param name="separator"/>
    <xsl:param name="last"/>
    <xsl:sequence select="c:split($text, $separator, $last) ! substring($text, . + string-length($separator))"/>
  </xsl:function>
  <!-- Lower case with the final sigma, which `lower-case` does not know. -->
  <xsl:function name="c:lower">
    <xsl:param name="text"/>
    <xsl:sequence select="$text ! lower-case(if (contains(., '&#x3A3;')) then c:final-sigmas(.) else .)"/>
  </xsl:function>
  <xsl:function name="c:final-sigmas">
    <xsl:param name="text"/>
    <!-- It is final after a letter that has a case, and not before one; some characters between them do not count. -->
    <xsl:sequence select="string-join(for $at in 1 to string-length($text) return if (substring($text, $at, 1) ne '&#x3A3;') then substring($text, $at, 1) else if (matches(substring($text, 1, $at - 1), '[\p{Lu}\p{Ll}\p{Lt}&#xAA;&#xBA;&#x2160;-&#x217F;&#x24B6;-&#x24E9;&#x1F130;-&#x1F149;&#x1F150;-&#x1F169;&#x1F170;-&#x1F189;][\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}''.:&#xB7;&#x387;&#x55F;&#x5F4;&#x2018;&#x2019;&#x2024;&#x2027;&#xFE13;&#xFE52;&#xFE55;&#xFF07;&#xFF0E;&#xFF1A;]*$') and not(matches(substring($text, $at + 1), '^[\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}''.:&#xB7;&#x387;&#x55F;&#x5F4;&#x2018;&#x2019;&#x2024;&#x2027;&#xFE13;&#xFE52;&#xFE55;&#xFF07;&#xFF0E;&#xFF1A;]*[\p{Lu}\p{Ll}\p{Lt}&#xAA;&#xBA;&#x2160;-&#x217F;&#x24B6;-&#x24E9;&#x1F130;-&#x1F149;&#x1F150;-&#x1F169;&#x1F170;-&#x1F189;]'))) then '&#x3C2;' else '&#x3A3;')"/>
  </xsl:function>
  <!-- Times in UTC, in microseconds, from year 1 to 9999; durations of 64 bits of microseconds. -->
  <xsl:function name="c:time">
    <xsl:param name="text"/>
    <xsl:sequence select="adjust-dateTime-to-timezone(xs:dateTime(replace(upper-case(normalize-space($text)), '(\.[0-9]{6})[0-9]+', '$1')), xs:dayTimeDuration('PT0S'))"/>
  </xsl:function>
  <xsl:function name="c:moment">
    <xsl:param name="time"/>
    <xsl:sequence select="$time[. ge xs:dateTime('0001-01-01T00:00:00Z') and . le xs:dateTime('9999-12-31T23:59:59.999999Z')]"/>
  </xsl:function>
  <xsl:function name="c:midnight">
    <xsl:param name="time"/>
    <xsl:sequence select="$time ! dateTime(xs:date(.), xs:time('00:00:00Z'))"/>
  </xsl:function>
  <xsl:function name="c:weekday">
    <xsl:param name="time"/>
    <xsl:variable name="days" select="(c:midnight($time) - xs:dateTime('0001-01-01T00:00:00Z')) div xs:dayTimeDuration('P1D')"/>
    <xsl:sequence select="$days ! (xs:integer(.) mod 7 + 1)"/>
  </xsl:function>
  <xsl:function name="c:fraction">
    <xsl:param name="time"/>
    <xsl:sequence select="xs:integer((seconds-from-dateTime($time) * 1000000) mod 1000000)"/>
  </xsl:function>
  <xsl:function name="c:time-text">
    <xsl:param name="time"/>
    <xsl:sequence select="$time ! (format-dateTime(., '[Y0001]-[M01]-[D01]T[H01]:[m01]:[s01]') || (if (c:fraction(.) eq 0) then '' else '.' || format-integer(c:fraction(.), '000000')) || 'Z')"/>
  </xsl:function>
  <!-- The time of year, month, day, hour, minute, second and microsecond; none where there is no such day. -->
  <xsl:function name="c:time-of">
    <xsl:param name="parts"/>
    <xsl:variable name="text" select="string-join(($parts[1] ! format-integer(., '0000'), subsequence($parts, 2, 2) ! format-integer(., '00')), '-') || 'T' || string-join(subsequence($parts, 4, 3) ! format-integer(., '00'), ':') || '.' || format-integer($parts[7], '000000') || 'Z'"/>
    <xsl:sequence select="if (count($parts) eq 7 and $text castable as xs:dateTime) then c:moment(xs:dateTime($text)) else ()"/>
  </xsl:function>
  <xsl:function name="c:microseconds">
    <xsl:param name="span"/>
    <xsl:sequence select="$span ! xs:integer(. div xs:dayTimeDuration('PT0.000001S'))"/>
  </xsl:function>
  <xsl:function name="c:span">
    <xsl:param name="span"/>
    <xsl:sequence select="$span[exists(c:int(c:microseconds(.)))]"/>
  </xsl:function>
  <!-- The duration of so many microseconds, a half rounded to the even one. -->
  <xsl:function name="c:span-of">
    <xsl:param name="microseconds"/>
    <xsl:for-each select="$microseconds ! c:whole(if (. instance of xs:double) then round-half-to-even(.) else .)">
      <xsl:variable name="whole" select="abs(.) idiv 1000000"/>
      <xsl:variable name="rest" select="format-integer(abs(.) mod 1000000, '000000')"/>
      <xsl:sequence select="xs:dayTimeDuration((if (. lt 0) then '-PT' else 'PT') || $whole || '.' || $rest || 'S')"/>
    </xsl:for-each>
  </xsl:function>
</xsl:stylesheet>
